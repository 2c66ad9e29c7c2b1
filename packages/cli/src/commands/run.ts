/** `incumbent run`: its options and help. `run/supervisor.ts` does the work. */

import { Option } from 'commander';

import { addStoreOptions, DURATIONS_HELP, durationOption, examples, ttlOption, type CommandParent } from '../common/options.ts';
import { parseDuration } from '../common/duration.ts';
import { parseValue } from '../common/json.ts';
import { slotsOption } from '../common/slots.ts';
import { parseHealthAddress } from '../run/health.ts';
import { run, type RunOptions } from '../run/supervisor.ts';

export function addRun({ root, context, end }: CommandParent): void {
  const command = root
    .command('run')
    .summary('run a program only while this process leads')
    .description(
      'Run a program only while this process leads an election. Start the same command on several machines: the program runs on one.',
    )
    .usage('--election <name> [options] -- <program> [arguments…]')
    .argument('<program...>', 'the program and its arguments')
    .requiredOption('--election <name>', 'name of the election to campaign in')
    .option(
      '--member <id>',
      'member id of this process; if it is the same after a restart, the restarted process waits for its former lease to end (default: host name and random characters)',
    )
    .addOption(slotsOption())
    .option('--value <json>', 'value that the leader publishes: JSON, or plain text; 1.10 stays text, as a number would be 1.1', parseValue)
    .addOption(ttlOption('how long the store waits for a silent leader before another member may lead'))
    .addOption(
      durationOption(
        '--grace',
        'time between SIGTERM and SIGKILL when leadership is lost; must fit into the ttl',
        'a fifth of the ttl less the time for SIGKILL, 2.5s of 15s',
      ),
    )
    .addOption(
      new Option(
        '--stop-timeout <duration>',
        'time between a SIGTERM or SIGINT to run, which the program gets, and SIGKILL; run leads meanwhile',
      )
        .argParser((text) => parseDuration('--stop-timeout', text))
        .default(30_000, '30s'),
    )
    .addOption(durationOption('--store-wait', 'how long to wait at the start for a store that cannot be reached', 'until it is there'))
    .option('--once', 'exit with 124 when leadership is lost (default: campaign again)')
    .option('--restart', 'campaign again when the program has ended, after 1s, then 2s, … up to 30s (default: exit)')
    .option(
      '--health-port <[address:]port>',
      'serve GET /healthz, /readyz and /metrics over HTTP; without an address on all interfaces',
      parseHealthAddress,
    )
    .option('--accept-weak-store <name>', 'accept a store that is not linearizable; name it: redis, or postgres')
    .addOption(new Option('-q, --quiet', 'print warnings and errors only').conflicts('verbose'))
    .option('-v, --verbose', 'print every event')
    .passThroughOptions()
    .addHelpText('after', [RUN_HELP, DURATIONS_HELP, RUN_EXIT_CODES].join('\n'))
    .addHelpText(
      'after',
      examples(
        'incumbent run --election cron -- ./scheduler --every 1m',
        'incumbent run --election db --ttl 10s --grace 2s --restart -- postgres -D /var/lib/postgres',
        `incumbent run --election workers --slots 3 -- sh -c './worker --shard "$INCUMBENT_SLOT"'`,
        `incumbent run --election backup --once -- sh -c 'pg_dump app | upload --term "$INCUMBENT_TERM"'`,
      ),
    )
    .action((words: readonly string[], options: RunOptions) => end(run(words, options, context)));
  addStoreOptions(command);
}

const RUN_HELP = `
The program:
  It has INCUMBENT_TERM, INCUMBENT_ELECTION and INCUMBENT_MEMBER in its environment, and the standard
  streams of run. Send the term with every write, and let the receiver reject lower terms: this
  stops late writes of a machine that was paused or cut off from the network.
  With --slots, it also has INCUMBENT_SLOT. The terms of different slots are independent, and slot 0
  of the election workers is the election workers.0 of the other commands.

When leadership ends:
  The program's process group gets SIGTERM and, after the grace, SIGKILL. It is gone before another
  member leads. Then run campaigns again.

When the program ends:
  Run ends the rest of its process group, resigns, and exits with the program's exit code.

Signals:
  SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH are passed on to the program. After
  SIGTERM or SIGINT, run exits when the program has ended. While no program runs, SIGTERM, SIGINT,
  SIGHUP and SIGQUIT end run.`;

const RUN_EXIT_CODES = `
Exit codes:
  the program's own; 128 + n after signal n
  124  leadership was lost (--once)
  125  run itself failed: wrong command line, store, or health port, or no process can be started for
       want of files, processes or memory; --restart tries that again
  126  the program cannot be executed
  127  the program was not found`;
