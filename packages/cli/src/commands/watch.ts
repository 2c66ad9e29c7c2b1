/** `incumbent watch`: a line for every change of the leader. */

import { ElectionObserver, type ElectionView, isRetryable } from '@incumbent/core';

import { showVacant } from '../common/elections.ts';
import { showValue } from '../common/json.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { printJson, viewLine } from '../common/output.ts';
import { showPrevious } from '../common/previous-term.ts';
import type { Printer, Style } from '../common/printer.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { Exit } from '../exit.ts';

interface WatchOptions extends StoreOptions {
  readonly json?: boolean;
}

export function addWatch({ root, context, end }: CommandParent): void {
  const command = root
    .command('watch')
    .summary('print a line for every change of the leader')
    .description('Print the leader of an election, then a line for every change, until the command is interrupted.')
    .argument('<election>', 'name of the election')
    .option('--json', 'print every line as JSON; terms are strings')
    .addHelpText('after', WATCH_HELP)
    .addHelpText('after', exitCodes('nobody reads the output any more'))
    .addHelpText('after', examples('incumbent watch db', `incumbent watch db --json | jq -c '[.at, .state, .leader.memberId, .term]'`))
    .action((name: string, options: WatchOptions) => end(watch(name, options, context)));
  addStoreOptions(command);
}

const WATCH_HELP = `
A line has the time and a state:
  leader   who leads, the term, how the term before ended, and the published value
  vacant   nobody leads, and how the last term ended
  unknown  the store has not confirmed anything for a while, and why`;

async function watch(name: string, options: WatchOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  return withStore(options, context, async (store) => {
    await using observer = new ElectionObserver(store, name);
    let isFirst = true;
    for await (const view of observer.views({ signal: out.closed })) {
      if (view.state === 'unknown' && view.last === undefined) {
        // The store has not had the time to answer.
        if (view.cause === undefined) continue;
        // A retry does not solve it, such as a missing permission.
        if (view.cause instanceof Error && !isRetryable(view.cause)) throw view.cause;
      }
      const at = new Date().toISOString();
      // A log of several watches shows by this field where changes may be missing.
      if (options.json === true) printJson(out, { ...viewLine(name, view, at), ...(isFirst ? { watchStarted: true } : {}) });
      else out.line(`${out.style('dim', at)}  ${lineOf(view, out)}`);
      if (isFirst && view.state === 'vacant' && view.reason === 'neverLed') err.line(await showVacant(store, { name }));
      isFirst = false;
    }
    return Exit.OK;
  });
}

function lineOf(view: ElectionView, out: Printer): string {
  const line = (style: Style, state: string, rest: string): string => `${out.style(style, state.padEnd(7))}  ${rest}`;
  switch (view.state) {
    case 'leader': {
      const reset = view.reason === undefined ? '' : `  (${view.reason})`;
      const before = view.previous === undefined ? '' : `  (${showPrevious(view.previous)})`;
      return line('green', 'leader', `${view.memberId}  term ${view.term}${reset}${before}  ${showValue(view.value)}`.trimEnd());
    }
    case 'vacant':
      return line('yellow', 'vacant', view.term === undefined ? view.reason : `${view.reason}  (term ${view.term} was the last)`);
    case 'unknown':
      return line('red', 'unknown', view.cause instanceof Error ? view.cause.message : 'the store has not answered yet');
    default:
      return view satisfies never;
  }
}
