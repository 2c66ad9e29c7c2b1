/** `incumbent handover`: makes the present leader hand over to a chosen candidate. */

import { ElectionAdmin } from '@incumbent/core';

import { addStoreOptions, DURATIONS_HELP, examples, exitCodes, timeoutOption, type CommandParent } from '../common/options.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import { parseTerm, presentLeader, waitForTermEnd } from '../common/term.ts';
import type { CliContext } from '../context.ts';
import { CliError, Exit } from '../exit.ts';

interface HandoverOptions extends StoreOptions {
  readonly to: string;
  readonly term?: bigint;
  readonly timeout: number;
}

export function addHandover({ root, context, end }: CommandParent): void {
  const command = root
    .command('handover')
    .summary('make the present leader hand over to a candidate')
    .description('Ask the present leader to hand over to a candidate, and wait until that candidate leads.')
    .argument('<election>', 'name of the election')
    .requiredOption('--to <member>', 'member id of the next leader, as candidates lists it')
    .option('--term <term>', 'do nothing unless the leader has this term', (text) => parseTerm(text))
    .addOption(timeoutOption('how long to wait; then the request is withdrawn'))
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('the chosen member leads', 'nobody leads, there is no such candidate, or it does not lead in time'))
    .addHelpText('after', examples('incumbent candidates db', 'incumbent handover db --to web-2'))
    .action((name: string, options: HandoverOptions) => end(handover(name, options, context)));
  addStoreOptions(command);
}

async function handover(name: string, options: HandoverOptions, context: CliContext): Promise<number> {
  const { out } = context;
  const { to, timeout } = options;
  return withStore(options, context, async (store) => {
    const admin = new ElectionAdmin(store, name);
    const { term, memberId } = await presentLeader(admin, options.term);
    if (memberId === to) {
      out.line(`"${to}" leads already, in term ${term}`);
      return Exit.OK;
    }
    if (!(await admin.requestHandover(term, to)))
      throw new CliError(Exit.NO, `term ${term} of "${name}" had ended already: nothing was done`);
    out.line(`"${memberId}" is asked to hand term ${term} over to "${to}"`);
    const after = await waitForTermEnd(admin, term, timeout);
    if (after === undefined) {
      const isWithdrawn = await admin.withdrawHandover(term);
      throw new CliError(
        Exit.NO,
        isWithdrawn
          ? `"${memberId}" did not hand over in time; the request is withdrawn`
          : `"${memberId}" has stopped leading, and nobody has followed yet`,
      );
    }
    if (after.leader?.memberId !== to)
      throw new CliError(
        Exit.NO,
        after.leader === undefined ? 'nobody leads now' : `"${after.leader.memberId}" leads now, in term ${after.leader.term}, not "${to}"`,
      );
    out.line(`"${to}" leads in term ${after.leader.term}`);
    return Exit.OK;
  });
}
