import { ElectionObserver, type ElectionView } from '@incumbent/core';

import { Exit } from '../exit.ts';
import { showValue, toJson } from '../json.ts';
import type { Printer, Style } from '../printer.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';

export interface WatchOptions extends StoreOptions {
  readonly json?: boolean;
}

/** A line whenever who leads has changed, until it is ended, or nobody reads the lines. */
export async function watch(name: string, options: WatchOptions, surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  return withStore(options, surroundings, async (store) => {
    await using observer = new ElectionObserver(store, name);
    // What waiting does not mend is told at once.
    await observer.ready;
    for await (const view of observer.views({ signal: out.closed })) {
      const at = new Date().toISOString();
      out.line(options.json === true ? toJson({ at, election: name, ...view }) : `${out.style('dim', at)}  ${lineOf(view, out)}`);
    }
    return Exit.OK;
  });
}

function lineOf(view: ElectionView<unknown>, out: Printer): string {
  const line = (style: Style, state: string, rest: string): string => `${out.style(style, state.padEnd(7))}  ${rest}`;
  switch (view.state) {
    case 'leader': {
      const reset = view.reason === undefined ? '' : `  (${view.reason})`;
      return line('green', 'leader', `${view.memberId}  term ${view.term}${reset}  ${showValue(view.value)}`.trimEnd());
    }
    case 'vacant':
      return line('yellow', 'vacant', view.term === undefined ? view.reason : `${view.reason}  (term ${view.term} was the last)`);
    case 'unknown':
      return line('red', 'unknown', view.cause instanceof Error ? view.cause.message : 'the store has not told yet');
    default:
      return view satisfies never;
  }
}
