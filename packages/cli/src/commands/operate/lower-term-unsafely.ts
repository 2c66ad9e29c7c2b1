/** `incumbent lower-term-unsafely`: replaces the last term by a lower one. */

import { ElectionAdmin } from '@incumbent/core';
import { MAX_FLOOR } from '@incumbent/core/adapter';

import { addStoreOptions, examples, exitCodes, type CommandParent } from '../../common/options.ts';
import { printJson } from '../../common/output.ts';
import { withStore, type StoreOptions } from '../../common/store.ts';
import { parseTerm } from './term.ts';
import type { CliContext } from '../../context.ts';
import { Exit, refusal, usageError } from '../../exit.ts';

interface LowerTermOptions extends StoreOptions {
  readonly from: bigint;
  readonly to: bigint;
  readonly json?: boolean;
}

export function addLowerTermUnsafely({ root, context, end }: CommandParent): void {
  const command = root
    .command('lower-term-unsafely')
    .summary('repair: replace the last term by a lower one')
    .description('Replace the last term by a lower one, after a mistake has used up the terms. Terms above --to are issued a second time.')
    .argument('<election>', 'name of the election')
    .requiredOption('--from <term>', 'the last term, as status shows it', (text) => parseTerm(text, '--from'))
    .requiredOption('--to <term>', 'the new last term: the next leader has the term after it', (text) => parseTerm(text, '--to'))
    .option('--json', 'print one line of JSON; terms are strings')
    .addHelpText('after', LOWER_TERM_HELP)
    .addHelpText('after', exitCodes('done', '--from is not the last term; nothing was done'))
    .addHelpText('after', examples('incumbent lower-term-unsafely db --from 9223372036854775807 --to 41'))
    .action((name: string, options: LowerTermOptions) => end(lowerTermUnsafely(name, options, context)));
  addStoreOptions(command);
}

const LOWER_TERM_HELP = `
1. Before: correct the option that raised the terms (minTerm), and restart the members that have it.
2. Run this command. A present leader steps down, as after resign.
3. After: reset every fence that has seen a term above --to. Until then the fence rejects the new
   leaders, and may accept a late write of a former leader with the same term.`;

async function lowerTermUnsafely(name: string, options: LowerTermOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  const { from, to, json } = options;
  if (to >= from || to > MAX_FLOOR) throw usageError(`--to is ${to}: it must be below --from, which is ${from}, and at most ${MAX_FLOOR}`);
  return withStore(options, context, async (store) => {
    const admin = new ElectionAdmin(store, name);
    if (!(await admin.lowerTermUnsafely(from, to))) {
      const { term } = await admin.state();
      const last = term === undefined ? 'nobody has led yet' : `the last term is ${term}`;
      throw refusal('NOT_LAST_TERM', `${from} is not the last term of "${name}": ${last}; nothing was done`);
    }
    if (json === true)
      printJson(out, { type: 'result', command: 'lower-term-unsafely', election: name, from: String(from), to: String(to) });
    else out.line(`the last term of "${name}" was ${from}, and is ${to} now: the next leader has term ${to + 1n}`);
    (json === true ? err : out).line(`reset every fence that has seen a term above ${to}: until then it rejects the new leaders`);
    return Exit.OK;
  });
}
