/** `incumbent serve`: its options and help. `serve/serve.ts` does the work. */

import { describeHidden } from '@incumbent/core/adapter';
import { Option } from 'commander';

import { addStoreOptions, DURATIONS_HELP, durationOption, examples, exitCodes, ttlOption, type CommandParent } from '../common/options.ts';
import { parseValue } from '../common/json.ts';
import { usageError } from '../exit.ts';
import { parseListen } from '../serve/http/listen.ts';
import { serve, type ServeOptions } from '../serve/serve.ts';
import { untilSignal } from '../serve/until-signal.ts';

const DEFAULT_LISTEN = '127.0.0.1:4040';

export function addServe({ root, context, end }: CommandParent): void {
  const command = root
    .command('serve')
    .summary('serve elections over HTTP, to programs in any language')
    .description(
      'Serve elections over HTTP to the processes of this machine: programs in any language campaign, lead and follow through it. ' +
        'GET /openapi.json describes the API.',
    )
    .addOption(
      new Option('--listen <address>', 'address:port, or unix:PATH for a socket that only this user can open')
        .argParser(parseListen)
        .default(parseListen(DEFAULT_LISTEN), DEFAULT_LISTEN),
    )
    .option(
      '--token-file <file>',
      'file with a token that every request must carry; an address that is not loopback needs it, or --tls-client-ca',
    )
    .option('--tls-cert <file>', 'certificate of the server, PEM')
    .option('--tls-key <file>', 'key of the certificate, PEM')
    .option('--tls-client-ca <file>', 'accept only clients with a certificate of this authority, PEM')
    .option('--election <name>', 'campaign in this election on behalf of one application, which asks GET / who leads')
    .option('--health <url>', 'campaign only while this URL answers; checked every 2s, unhealthy after 3 failures', parseUrl)
    .option(
      '--value <json>',
      'value that the sidecar publishes in --election: JSON, or plain text; 1.10 stays text, as a number would be 1.1',
      parseValue,
    )
    .option(
      '--member <id>',
      'member id of this sidecar, which names it as the leader; if it is the same after a restart, the restarted process waits for its former lease to end (default: host name and random characters)',
    )
    .addOption(ttlOption('how long the store waits for a silent sidecar before another member may lead'))
    .addOption(
      durationOption(
        '--drain',
        'time that a client has to acknowledge that its work has stopped, and the longest validForMs; must fit into the ttl',
        'a fifth of the ttl, 3s of 15s',
      ),
    )
    .addOption(durationOption('--store-wait', 'how long to wait at the start for a store that cannot be reached', 'until it is there'))
    .option('--accept-weak-store <name>', 'accept a store that is not linearizable; name it: redis, or postgres')
    .addOption(new Option('-q, --quiet', 'print warnings and errors only').conflicts('verbose'))
    .option('-v, --verbose', 'print every event')
    .addHelpText('after', SERVE_HELP)
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('stopped by SIGTERM or SIGINT'))
    .addHelpText(
      'after',
      examples(
        'incumbent serve',
        'incumbent serve --listen unix:/run/incumbent/serve.sock',
        'incumbent serve --election reports --member "$POD_NAME" --health http://127.0.0.1:8080/healthz',
      ),
    )
    .action((options: ServeOptions) => end(untilSignal((stopping) => serve(options, context, stopping))));
  addStoreOptions(command);
}

function parseUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text);
  throw usageError(`--health is ${describeHidden(text)}: it must be a URL that begins with http:// or https://`);
}

const SERVE_HELP = `
Clients:
  PUT /elections/NAME/candidacies/ID campaigns; the answer has a secret for all other requests. GET
  the same path: leads, term and validForMs. The client counts validForMs from before it asked, and
  works only until then. A client that falls silent is over, and its leadership is resigned once its
  last validForMs has passed.

Signals:
  SIGTERM and SIGINT end the candidacies: clients have --drain to stop their work and to say so.`;
