/** `incumbent handover`: makes the present leader hand over to a chosen candidate. */

import { ElectionAdmin } from '@incumbent/core';

import { showDuration } from '../../common/duration.ts';
import { addStoreOptions, DURATIONS_HELP, examples, exitCodes, timeoutOption, type CommandParent } from '../../common/options.ts';
import { printJson } from '../../common/output.ts';
import { withStore, type StoreOptions } from '../../common/store.ts';
import { parseTerm, presentLeader, termFields, waitForHandover, WITHDRAWN } from './term.ts';
import type { CliContext } from '../../context.ts';
import { Exit, refusal } from '../../exit.ts';

interface HandoverOptions extends StoreOptions {
  readonly to: string;
  readonly term?: bigint;
  readonly timeout: number;
  readonly json?: boolean;
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
    .option('--json', 'print one line of JSON; terms are strings')
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('the chosen member leads', 'nobody leads, there is no such candidate, or it does not lead in time'))
    .addHelpText('after', examples('incumbent candidates db', 'incumbent handover db --to web-2'))
    .action((name: string, options: HandoverOptions) => end(handover(name, options, context)));
  addStoreOptions(command);
}

async function handover(name: string, options: HandoverOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  const { to, timeout, json } = options;
  return withStore(options, context, async (store) => {
    const admin = new ElectionAdmin(store, name);
    const before = await presentLeader(admin, options.term);
    const { term, memberId } = before;
    if (memberId === to) {
      if (json === true) printJson(out, { type: 'result', command: 'handover', election: name, leader: termFields(before) });
      else out.line(`"${to}" leads already, in term ${term}`);
      return Exit.OK;
    }
    if (!(await admin.requestHandover(term, to)))
      throw refusal('TERM_OVER', `term ${term} of "${name}" had ended already: nothing was done`);
    (json === true ? err : out).line(`"${memberId}" is asked to hand term ${term} over to "${to}"`);
    const after = await waitForHandover(admin, term, timeout);
    if (after === 'withdrawn')
      throw refusal('WITHDRAWN', `"${memberId}" has not handed over within ${showDuration(timeout)}; ${WITHDRAWN}`);
    if (after === undefined) throw refusal('NO_SUCCESSOR', `"${memberId}" has stopped leading, and nobody has followed yet`);
    const { leader } = after;
    if (leader === undefined) throw refusal('NO_SUCCESSOR', 'nobody leads now');
    if (leader.memberId !== to) throw refusal('OTHER_SUCCESSOR', `"${leader.memberId}" leads now, in term ${leader.term}, not "${to}"`);
    if (json === true)
      printJson(out, { type: 'result', command: 'handover', election: name, ended: termFields(before), leader: termFields(leader) });
    else out.line(`"${to}" leads in term ${leader.term}`);
    return Exit.OK;
  });
}
