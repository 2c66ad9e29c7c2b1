/**
 * The command line: its subcommands, the help of `incumbent` itself, and how errors are printed.
 */

import { Command } from 'commander';

import { addCandidates } from './commands/candidates.ts';
import { addCompletion } from './commands/completion.ts';
import { addDoctor } from './commands/doctor.ts';
import { addGroups } from './commands/groups.ts';
import { addHandover } from './commands/operate/handover.ts';
import { addLeader } from './commands/leader.ts';
import { addLowerTermUnsafely } from './commands/operate/lower-term-unsafely.ts';
import { addResign } from './commands/operate/resign.ts';
import { addLimits } from './commands/limits.ts';
import { addPostgres } from './commands/postgres.ts';
import { addRun } from './commands/run.ts';
import { addServe } from './commands/serve.ts';
import { addStatus } from './commands/status.ts';
import { addUi } from './commands/ui.ts';
import { addWatch } from './commands/watch.ts';
import { examples } from './common/options.ts';
import { redactArguments } from './common/redact.ts';
import type { CliContext } from './context.ts';
import { EXIT_MEANINGS } from './exit.ts';

/** The longest lines of help, in columns. */
const HELP_COLUMNS = 100;

/** In the order of `incumbent --help`. */
const COMMANDS = [
  addRun,
  addServe,
  addUi,
  addLeader,
  addWatch,
  addCandidates,
  addStatus,
  addGroups,
  addResign,
  addHandover,
  addLowerTermUnsafely,
  addDoctor,
  addLimits,
  addPostgres,
  addCompletion,
];

/** The parser of the arguments. Calls `done` with the exit code of the command that ran. */
export function createProgram(args: readonly string[], context: CliContext, version: string, done: (code: number) => void): Command {
  const { out, err } = context;
  const root = new Command('incumbent')
    .description('Leader election on a store that you already run: run a program only while it leads, show the leader, hand over.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(redactArguments(text, args).replace(/^error: /, `${err.style('red', 'incumbent:')} `)),
      getOutHelpWidth: () => Math.min(out.width, HELP_COLUMNS),
      getErrHelpWidth: () => Math.min(err.width, HELP_COLUMNS),
      getOutHasColors: () => out.colours,
      getErrHasColors: () => err.colours,
    })
    .configureHelp({
      styleTitle: (text) => out.style('bold', text),
      styleCommandText: (text) => out.style('cyan', text),
      styleOptionTerm: (text) => out.style('green', text),
      styleSubcommandTerm: (text) => out.style('green', text),
      subcommandTerm: (command) => command.name(),
    })
    .addHelpText('after', ROOT_HELP);
  const end = async (code: Promise<number>): Promise<void> => done(await code);
  for (const add of COMMANDS) add({ root, context, end });
  return root;
}

const ROOT_HELP = `
Every command but limits, postgres and completion needs a store: --store URL, --store-file FILE,
or one of the environment variables INCUMBENT_STORE and INCUMBENT_STORE_FILE.

Store URLs (elections in different namespaces, here my-app, do not meet):
  etcd://host:2379,host2:2379/my-app    etcds:// for TLS
  zookeeper://host:2181/my-app          zookeepers:// for TLS
  consul://:token@host:8500/my-app      consuls:// for TLS
  redis://user:password@host/my-app     rediss:// for TLS, redis+sentinel:// for Sentinel
  valkey://user:password@host/my-app    valkeys:// for TLS, valkey+sentinel:// for Sentinel
  postgres://user:password@host/database?namespace=my-app    &sslmode=verify-full for TLS
  kubernetes:                           in a pod, in the namespace of the pod
  sqlite:./state.db                     for the processes of one machine
With Redis and Valkey, run and serve need --accept-weak-store redis.

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}
  run exits with its program's code, 128 + n after signal n, or 124 to 127 (incumbent run --help)
${examples(
  'export INCUMBENT_STORE=etcd://127.0.0.1:2379/my-app',
  'incumbent doctor',
  'incumbent run --election cron -- ./scheduler --every 1m',
  'incumbent status',
  'incumbent handover cron --to web-2',
)}`;
