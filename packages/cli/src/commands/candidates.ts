/** `incumbent candidates`: the leader and the waiting candidates, in their order of succession. */

import { ElectionAdmin } from '@incumbent/core';

import { showElections } from '../common/elections.ts';
import { showValue } from '../common/json.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { candidatesOf, printJson } from '../common/output.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { Exit } from '../exit.ts';

interface CandidatesOptions extends StoreOptions {
  readonly json?: boolean;
}

export function addCandidates({ root, context, end }: CommandParent): void {
  const command = root
    .command('candidates')
    .summary('list the leader and the waiting candidates')
    .description('List the leader and the waiting candidates, in the order in which they would lead.')
    .argument('<election>', 'name of the election')
    .option('--json', 'print one line of JSON per candidate; terms are strings')
    .addHelpText('after', exitCodes('there are candidates', 'there are none'))
    .addHelpText('after', examples('incumbent candidates db'))
    .action((name: string, options: CandidatesOptions) => end(candidates(name, options, context)));
  addStoreOptions(command);
}

async function candidates(name: string, options: CandidatesOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  return withStore(options, context, async (store) => {
    const election = await new ElectionAdmin(store, name).state();
    const queue = candidatesOf(election);
    if (queue.length === 0) {
      const hint = election.term === undefined ? `: ${await showElections(store, name)}` : '';
      err.line(`nobody is a candidate of "${name}"${hint}`);
      return Exit.NO;
    }
    if (options.json === true) {
      const { succession } = election;
      queue.forEach((candidate, position) => printJson(out, { type: 'candidate', election: name, position, succession, ...candidate }));
      return Exit.OK;
    }
    const rows = queue.map(({ memberId, state, incarnation, value }, position) => [
      String(position),
      memberId,
      state,
      incarnation,
      showValue(value),
    ]);
    out.table([['#', 'MEMBER', 'STATE', 'INCARNATION', 'VALUE'], ...rows]);
    return Exit.OK;
  });
}
