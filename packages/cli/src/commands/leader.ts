/** `incumbent leader`: who leads an election now. */

import { ElectionAdmin } from '@incumbent/core';

import { showVacant } from '../common/elections.ts';
import { showValue } from '../common/json.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { electionLine, printJson } from '../common/output.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { Exit } from '../exit.ts';

interface LeaderOptions extends StoreOptions {
  readonly json?: boolean;
}

export function addLeader({ root, context, end }: CommandParent): void {
  const command = root
    .command('leader')
    .summary('print the leader of an election')
    .description('Print the leader of an election, its term and its published value, by a linearizable read.')
    .argument('<election>', 'name of the election')
    .option('--json', 'print one line of JSON; terms are strings')
    .addHelpText('after', exitCodes('somebody leads', 'nobody leads'))
    .addHelpText('after', examples('incumbent leader db', 'incumbent leader db --json | jq -r .term'))
    .action((name: string, options: LeaderOptions) => end(leader(name, options, context)));
  addStoreOptions(command);
}

async function leader(name: string, options: LeaderOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  return withStore(options, context, async (store) => {
    const state = await new ElectionAdmin(store, name).state();
    const { leader: now } = state;
    if (options.json === true) printJson(out, electionLine(state));
    if (now === undefined) {
      err.line(await showVacant(store, state));
      return Exit.NO;
    }
    if (options.json !== true) out.line(`${now.memberId}  ${out.style('dim', `term ${now.term}  ${showValue(now.value)}`.trimEnd())}`);
    return Exit.OK;
  });
}
