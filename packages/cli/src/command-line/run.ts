import { describeHidden } from '@incumbent/core/adapter';
import { Option } from 'commander';

import { parseDuration } from '../duration.ts';
import { usageError } from '../exit.ts';
import { parseHealthAddress } from '../run/health.ts';
import { run, type RunOptions } from '../run/run.ts';
import { examples, onStore, type Shell } from './common.ts';

export function addRun({ root, surroundings, end }: Shell): void {
  onStore(root.command('run'))
    .description('Run a program only while this process leads an election')
    .usage('--election <name> [options] -- <program> [arguments…]')
    .requiredOption('--election <name>', 'the election to campaign in')
    .option('--member <id>', 'who this process is, over restarts (default: the host name and something random)')
    .option('--value <json>', 'what it publishes while it leads: JSON, or text', parseValue)
    .option('--ttl <duration>', 'how long the store keeps a silent leader (default: 15s)', (text) => parseDuration('--ttl', text))
    .option('--grace <duration>', 'from SIGTERM to SIGKILL when leadership is lost (default: as fits the ttl: 2.5s of 15s)', (text) =>
      parseDuration('--grace', text),
    )
    .addOption(
      new Option('--stop-timeout <duration>', 'from a SIGTERM or SIGINT to this process, passed on, to SIGKILL; it leads meanwhile')
        .argParser((text) => parseDuration('--stop-timeout', text))
        .default(30_000, '30s'),
    )
    .option('--once', 'campaign once: exit with 124 if leadership is lost before the program ends')
    .option('--restart', 'campaign again, after a pause, when the program has ended')
    .option('--health-port <[address:]port>', 'answer GET /healthz, /readyz and /metrics', parseHealthAddress)
    .option('--accept-weak-store <name>', 'accept a store that is not linearizable, by its name: redis')
    .addOption(new Option('-q, --quiet', 'say only what goes wrong').conflicts('verbose'))
    .option('-v, --verbose', 'say everything')
    .argument('<program...>', 'the program and its arguments')
    .passThroughOptions()
    .addHelpText('after', RUN_HELP)
    .action((command: readonly string[], options: RunOptions) => end(run(command, options, surroundings)));
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (/^\s*[[{"]/.test(text)) throw usageError(`--value looks like JSON, and is none: it is ${describeHidden(text)}`);
    return text;
  }
}

const RUN_HELP = `
The program gets INCUMBENT_TERM, INCUMBENT_ELECTION and INCUMBENT_MEMBER in its environment, and this process's standard streams. Send the
term along with what it writes: what a paused or cut off machine still sends is refused by whoever has seen a higher one.

When leadership ends first, the program's process group gets SIGTERM, the grace, SIGKILL, and is gone before another member leads. Then this
process campaigns again. When the program ends, leadership is given up, and this process ends with its exit code.

SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH are passed on. After SIGTERM or SIGINT it ends when the program has.

Exit codes:
  the program's own; 128 + n after signal n
  124  leadership was lost (--once)      126  the program cannot be run
  125  incumbent itself failed           127  there is no such program
${examples(
  'incumbent run --election cron -- ./scheduler --every 1m',
  'incumbent run --election db --ttl 10s --grace 2s --restart -- postgres -D /var/lib/postgres',
  `incumbent run --election backup --once -- sh -c 'pg_dump app | upload --term "$INCUMBENT_TERM"'`,
)}`;
