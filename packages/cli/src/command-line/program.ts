/** The command line: what there is, and how it is said. */

import { Command } from 'commander';

import type { Surroundings } from '../surroundings.ts';
import { examples } from './common.ts';
import { addObserving } from './observe.ts';
import { addOperating } from './operate.ts';
import { hideIn } from './hide.ts';
import { addRun } from './run.ts';

/** The parser of these arguments; `done` is given the exit code of the verb that ran. */
export function program(args: readonly string[], surroundings: Surroundings, version: string, done: (code: number) => void): Command {
  const { out, err } = surroundings;
  const root = new Command('incumbent')
    .description('Leader election on the store you already trust: run a program only while it leads, see who leads, hand over.')
    .version(version, '-V, --version')
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(hideIn(text, args).replace(/^error: /, `${err.style('red', 'incumbent:')} `)),
      getOutHelpWidth: () => Math.min(out.width, 110),
      getErrHelpWidth: () => Math.min(err.width, 110),
      getOutHasColors: () => out.colours,
      getErrHasColors: () => err.colours,
    })
    .configureHelp({
      styleTitle: (text) => out.style('bold', text),
      styleCommandText: (text) => out.style('cyan', text),
      styleOptionTerm: (text) => out.style('green', text),
      styleSubcommandTerm: (text) => out.style('green', text),
    })
    .addHelpText('after', ROOT_HELP);
  const end = async (code: Promise<number>): Promise<void> => done(await code);
  for (const add of [addRun, addObserving, addOperating]) add({ root, surroundings, end });
  return root;
}

const ROOT_HELP = `
Stores:
  etcd://host:2379,host2:2379/my-app   zookeeper://host:2181/my-app   consul://:token@host:8500/my-app
  redis://host:6379/my-app             sqlite:./state.db              with an s for TLS: etcds://, rediss:// …

Exit codes:
  0  done        1  the answer is no: nobody leads, not done, doctor found something
  2  usage       3  the store cannot be reached or used
  run has the program's own, 128 + n after signal n, and 124 to 127: see incumbent run --help
${examples(
  'export INCUMBENT_STORE=etcd://127.0.0.1:2379/my-app',
  'incumbent run --election cron -- ./scheduler --every 1m',
  'incumbent status',
  'incumbent handover cron --to web-2',
)}`;
