/** `incumbent ui`: its options and help. `ui/ui.ts` does the work. */

import { Option } from 'commander';

import { addStoreOptions, DURATIONS_HELP, durationOption, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { parseListen } from '../serve/http/listen.ts';
import { untilSignal } from '../serve/until-signal.ts';
import { ui, type UiOptions } from '../ui/ui.ts';

const DEFAULT_LISTEN = '127.0.0.1:4041';

export function addUi({ root, context, end }: CommandParent): void {
  const command = root
    .command('ui')
    .summary('show all elections of a store on a page')
    .description(
      'Serve a page that shows the elections of the namespace: who leads, since when, the queue, recent ends with their reasons, ' +
        'a timeline, groups, and the health of the store.',
    )
    .addOption(
      new Option('--listen <address>', 'address:port of the page')
        .argParser(parseListen)
        .default(parseListen(DEFAULT_LISTEN), DEFAULT_LISTEN),
    )
    .option('--allow-operate', 'let viewers make a leader step down or hand over; without it, the page only reads')
    .option('--token-file <file>', 'file with a token that the page asks for; an address that is not loopback needs it, or --tls-client-ca')
    .option('--tls-cert <file>', 'certificate of the server, PEM')
    .option('--tls-key <file>', 'key of the certificate, PEM')
    .option('--tls-client-ca <file>', 'accept only browsers with a certificate of this authority, PEM')
    .addOption(durationOption('--store-wait', 'how long to wait at the start for a store that cannot be reached', 'until it is there'))
    .addHelpText('after', UI_HELP)
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('stopped by SIGTERM or SIGINT'))
    .addHelpText(
      'after',
      examples('incumbent ui', 'incumbent ui --allow-operate', 'incumbent ui --listen 0.0.0.0:4041 --token-file token.txt'),
    )
    .action((options: UiOptions) => end(untilSignal((stopping) => ui(options, context, root.version() ?? '', stopping))));
  addStoreOptions(command);
}

const UI_HELP = `
The page shows what this process has seen: a store keeps no history, so timelines and recent ends
begin when the command starts. Each election is watched once, whatever the number of viewers.

Without --allow-operate nothing is written to the store. With it, doctor's checks on the page also
write, below one key of their own that they remove.`;
