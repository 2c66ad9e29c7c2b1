import { Option } from 'commander';

import { doctor, type DoctorOptions } from '../doctor/doctor.ts';
import { parseDuration } from '../duration.ts';
import { handover, type HandoverOptions } from '../verbs/handover.ts';
import { resign, type ResignOptions } from '../verbs/resign.ts';
import { parseTerm } from '../verbs/term.ts';
import { examples, onStore, type Shell } from './common.ts';

/** The verbs of an operator. */
export function addOperating({ root, surroundings, end }: Shell): void {
  onStore(root.command('resign <election>'))
    .description('Make the present leader step down: it stops its work first, and joins the queue again at its end')
    .option('--term <term>', 'only if it leads in this term', parseTerm)
    .addOption(timeout('how long to wait until it has let go'))
    .addHelpText('after', examples('incumbent resign db', 'incumbent resign db --term 7'))
    .action((name: string, options: ResignOptions) => end(resign(name, options, surroundings)));

  onStore(root.command('handover <election>'))
    .description('Ask the present leader to hand over to a candidate, and wait until that one leads')
    .requiredOption('--to <member>', 'the candidate that is to lead')
    .option('--term <term>', 'only if the present leader leads in this term', parseTerm)
    .addOption(timeout('how long to wait before the request is taken back'))
    .addHelpText('after', examples('incumbent handover db --to web-2'))
    .action((name: string, options: HandoverOptions) => end(handover(name, options, surroundings)));

  onStore(root.command('doctor'))
    .description('Examine the store: what would go wrong, before it does')
    .option('--ttl <duration>', 'the ttl that elections are to have (default: 15s)', (text) => parseDuration('--ttl', text))
    .option('--json', 'lines of JSON')
    .addHelpText(
      'after',
      `\nIt writes below one key of its own, and removes that: elections/doctor-….\n${examples('incumbent doctor', 'incumbent doctor --ttl 5s --json')}`,
    )
    .action((options: DoctorOptions) => end(doctor(options, surroundings)));
}

function timeout(what: string): Option {
  return new Option('--timeout <duration>', what).argParser((text) => parseDuration('--timeout', text)).default(30_000, '30s');
}
