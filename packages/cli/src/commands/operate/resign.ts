/** `incumbent resign`: makes the present leader step down. */

import { ElectionAdmin } from '@incumbent/core';

import { addStoreOptions, DURATIONS_HELP, examples, exitCodes, timeoutOption, type CommandParent } from '../../common/options.ts';
import { printJson } from '../../common/output.ts';
import { withStore, type StoreOptions } from '../../common/store.ts';
import { parseTerm, presentLeader, termFields, waitForTermEnd } from './term.ts';
import type { CliContext } from '../../context.ts';
import { Exit, refusal } from '../../exit.ts';

interface ResignOptions extends StoreOptions {
  readonly term?: bigint;
  readonly timeout: number;
  readonly json?: boolean;
}

export function addResign({ root, context, end }: CommandParent): void {
  const command = root
    .command('resign')
    .summary('make the present leader step down')
    .description('Make the present leader step down, and wait until another member leads or nobody is left.')
    .argument('<election>', 'name of the election')
    .option('--term <term>', 'do nothing unless the leader has this term', (text) => parseTerm(text))
    .addOption(timeoutOption('how long to wait for the end of the term'))
    .option('--json', 'print one line of JSON; terms are strings')
    .addHelpText('after', RESIGN_HELP)
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('the term has ended', 'nobody leads, or the term has not ended in time'))
    .addHelpText('after', examples('incumbent resign db', 'incumbent resign db --term 7'))
    .action((name: string, options: ResignOptions) => end(resign(name, options, context)));
  addStoreOptions(command);
}

const RESIGN_HELP = `
The leader first stops its work, which may take until its lease ends. Nobody else leads before that.
Then the former leader joins the queue again, at its end.`;

async function resign(name: string, options: ResignOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  const { json, timeout } = options;
  return withStore(options, context, async (store) => {
    const admin = new ElectionAdmin(store, name);
    const { term, memberId } = await presentLeader(admin, options.term);
    if (!(await admin.stepDown(term))) throw refusal('TERM_OVER', `term ${term} of "${name}" had ended already: nothing was done`);
    (json === true ? err : out).line(`"${memberId}" is told to step down from term ${term}`);
    const after = await waitForTermEnd(admin, term, timeout);
    if (after === undefined)
      throw refusal(
        'NOT_IN_TIME',
        `nobody has followed "${memberId}" yet: it may still be stopping, which ends with its lease at the latest`,
      );
    const { leader } = after;
    if (json === true)
      printJson(out, {
        type: 'result',
        command: 'resign',
        election: name,
        ended: termFields({ term, memberId }),
        leader: leader && termFields(leader),
      });
    else out.line(leader === undefined ? 'nobody leads now' : `"${leader.memberId}" leads in term ${leader.term}`);
    return Exit.OK;
  });
}
