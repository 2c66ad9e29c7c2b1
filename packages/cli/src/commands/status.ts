/** `incumbent status`: an overview of all elections of a namespace. */

import { ElectionAdmin, isIncumbentError, type ElectionState, type ErrorCode, type Store } from '@incumbent/core';

import { showNamespace } from '../common/elections.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { candidatesOf, electionLine, type ElectionLine, errorFields, printJson } from '../common/output.ts';
import { showPrevious } from '../common/previous-term.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { electionNames } from '../doctor/probe-target.ts';
import { Exit, toCliError } from '../exit.ts';

interface StatusOptions extends StoreOptions {
  readonly json?: boolean;
}

/** How many elections are read at a time. */
const BATCH = 16;

/**
 * Errors that every election of the store would have. After any other error, the election is listed
 * as unreadable.
 */
const STORE_WIDE: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'CONNECTION_LOST', 'UNAVAILABLE', 'UNAUTHENTICATED', 'STORE_CLOSED'];

/**
 * An election that cannot be read: another program or a newer version has written a record, say.
 */
interface Unreadable {
  readonly name: string;
  readonly error: unknown;
}

export function addStatus({ root, context, end }: CommandParent): void {
  const command = root
    .command('status')
    .summary('list elections with their leader, term and state')
    .description('List elections with their leader, term, number of candidates and state.')
    .argument('[elections...]', 'names of elections (default: all of the namespace)')
    .option('--json', 'print one line of JSON per election; terms are strings')
    .addHelpText('after', exitCodes('the elections were read, also if there are none'))
    .addHelpText('after', examples('incumbent status', 'incumbent status db cron'))
    .action((names: readonly string[], options: StatusOptions) => end(status(names, options, context)));
  addStoreOptions(command);
}

/** An election that cannot be read is listed with the error, after which the exit code is 3. */
async function status(names: readonly string[], options: StatusOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  return withStore(options, context, async (store) => {
    const states = await statesOf(store, names.length === 0 ? await electionNames(store) : names);
    if (states.length === 0) err.line(`there has been no election in ${showNamespace(store)}`);
    else if (options.json === true) for (const state of states) printJson(out, lineOf(state));
    else out.table([['ELECTION', 'LEADER', 'TERM', 'CANDIDATES', 'STATE'], ...states.map(rowOf)]);
    return states.some((state) => 'error' in state) ? Exit.STORE : Exit.OK;
  });
}

async function statesOf(store: Store, names: readonly string[]): Promise<readonly (ElectionState | Unreadable)[]> {
  const states: (ElectionState | Unreadable)[] = [];
  // Checks every name before the first request.
  const admins = names.map((name) => new ElectionAdmin(store, name));
  for (let from = 0; from < admins.length; from += BATCH)
    states.push(...(await Promise.all(admins.slice(from, from + BATCH).map(stateOrError))));
  return states;
}

async function stateOrError(admin: ElectionAdmin): Promise<ElectionState | Unreadable> {
  try {
    return await admin.state();
  } catch (error) {
    if (!isIncumbentError(error) || isIncumbentError(error, ...STORE_WIDE)) throw error;
    return { name: admin.name, error };
  }
}

function lineOf(state: ElectionState | Unreadable): ElectionLine {
  if ('error' in state) return { type: 'election', election: state.name, state: 'unreadable', error: errorFields(state.error) };
  return { ...electionLine(state), candidates: candidatesOf(state), succession: state.succession };
}

function rowOf(state: ElectionState | Unreadable): readonly string[] {
  if ('error' in state) return [state.name, '?', '?', '?', `cannot be read: ${toCliError(state.error).text}`];
  const { name, leader, term, candidates } = state;
  return [name, leader?.memberId ?? '-', term === undefined ? '-' : String(term), String(candidates.length), stateText(state)];
}

function stateText({ leader, ended, stopping, term }: ElectionState): string {
  if (leader !== undefined && stopping) return 'led: the leader is stepping down';
  if (leader !== undefined) return leader.previous === undefined ? 'led' : `led (${showPrevious(leader.previous)})`;
  if (stopping) return 'vacant: the last leader is still stopping';
  if (term === undefined) return 'vacant: nobody has led yet';
  return `vacant: ${ended ?? 'expired'}`;
}
