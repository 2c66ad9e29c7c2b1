import { ElectionAdmin, isIncumbentError, listElections, type ElectionState, type Store } from '@incumbent/core';

import { Exit, toCliError } from '../exit.ts';
import { toJson } from '../json.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';

export interface StatusOptions extends StoreOptions {
  readonly json?: boolean;
}

/** So many elections are read at a time. */
const AT_A_TIME = 16;

/** An election whose records cannot be read, as somebody else has written there. */
interface Unreadable {
  readonly name: string;
  readonly error: unknown;
}

/** Every election of the namespace, or those that are named. One that cannot be read is shown as such, and does not keep the others from being shown. */
export async function status(names: readonly string[], options: StatusOptions, surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings;
  return withStore(options, surroundings, async (store) => {
    const states = await statesOf(store, names.length === 0 ? await listElections(store) : names);
    if (options.json === true) for (const state of states) out.line(toJson(state));
    else if (states.length === 0) err.line('there has been no election in this namespace');
    else out.table([['ELECTION', 'LEADER', 'TERM', 'CANDIDATES', 'STATE'], ...states.map(rowOf)]);
    return states.some((state) => 'error' in state) ? Exit.STORE : Exit.OK;
  });
}

async function statesOf(store: Store, names: readonly string[]): Promise<readonly (ElectionState<unknown> | Unreadable)[]> {
  const states: (ElectionState<unknown> | Unreadable)[] = [];
  // All of them first: a name that is none is refused before anything is asked.
  const operators = names.map((name) => new ElectionAdmin(store, name));
  for (let from = 0; from < operators.length; from += AT_A_TIME)
    states.push(...(await Promise.all(operators.slice(from, from + AT_A_TIME).map(stateOrError))));
  return states;
}

async function stateOrError(operator: ElectionAdmin): Promise<ElectionState<unknown> | Unreadable> {
  try {
    return await operator.state();
  } catch (error) {
    if (isIncumbentError(error, 'FOREIGN_DATA')) return { name: operator.name, error };
    throw error;
  }
}

function rowOf(state: ElectionState<unknown> | Unreadable): readonly string[] {
  if ('error' in state) return [state.name, '?', '?', '?', `cannot be read: ${toCliError(state.error).message}`];
  const { name, leader, term, candidates } = state;
  return [name, leader?.memberId ?? '-', term === undefined ? '-' : String(term), String(candidates.length), stateOf(state)];
}

/** In a word or two: what the election is at. */
function stateOf({ leader, ended, stopping, term }: ElectionState<unknown>): string {
  if (leader !== undefined) return 'led';
  if (stopping) return 'vacant: the last leader has not let go yet';
  if (term === undefined) return 'vacant: nobody has led';
  return `vacant: ${ended ?? 'expired'}`;
}
