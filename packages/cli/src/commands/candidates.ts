/** `incumbent candidates`: the leader and the waiting candidates, in their order of succession. */

import { ElectionAdmin } from '@incumbent/core';

import { showValue, toJson } from '../common/json.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
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
    const { candidates: queue, stopping, succession } = await new ElectionAdmin(store, name).state();
    if (queue.length === 0) {
      if (options.json !== true) err.line(`nobody is a candidate of "${name}"`);
      return Exit.NO;
    }
    if (options.json === true) {
      queue.forEach((candidate, index) =>
        out.line(toJson({ election: name, position: index, succession, stopping: candidate.leads && stopping, ...candidate })),
      );
      return Exit.OK;
    }
    const rows = queue.map(({ memberId, incarnation, leads, value }, index) => [
      String(index),
      memberId,
      leads ? (stopping ? 'stopping' : 'leads') : 'waits',
      incarnation,
      showValue(value),
    ]);
    out.table([['#', 'MEMBER', 'STATE', 'INCARNATION', 'VALUE'], ...rows]);
    return Exit.OK;
  });
}
