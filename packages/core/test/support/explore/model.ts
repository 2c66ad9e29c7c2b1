/** One state of everything that is explored. */

import type { Change, Entry } from '../../../src/index.ts';
import * as people from './person.ts';
import type { Call, Person, Seen } from './person.ts';
import type { Shelf } from './shelf.ts';

/** A call of unknown outcome, which the store may apply at any time, or never. */
export interface Late {
  readonly by: string;
  readonly attempt: number;
  readonly call: Call;
}

/** How often each fault may happen. */
export interface Budget {
  /** Calls with a lost answer. */
  readonly lost: number;
  /** Calls that fail: any call with no effect, or a read with an unknown outcome. */
  readonly failed: number;
  /** Keys that an operator deletes, except the term. */
  readonly deleted: number;
  readonly stopped: number;
  readonly handovers: number;
  readonly timeouts: number;
  readonly expired: number;
  /** Requests of an operator in the leader's entry, and their withdrawals. */
  readonly requests: number;
  /** Looks of leaders for their successors, in advance. */
  readonly looks: number;
}

export interface Model {
  readonly shelf: Shelf;
  readonly people: readonly Person[];
  readonly late: readonly Late[];
  readonly budget: Budget;
  /** The highest term of any leader so far. */
  readonly elected: bigint;
  /** All past states of the term, which a stale read or a lagging watch may show. */
  readonly terms: readonly Seen[];
  /** All past states of entries that a handover has marked, which a lagging watch may show. */
  readonly marks: readonly Entry[];
}

/** Uses a fault up. */
export function spend(model: Model, what: keyof Budget): Model {
  return { ...model, budget: { ...model.budget, [what]: model.budget[what] - 1 } };
}

/** With a member in a new state. */
export function replace(model: Model, person: Person): Model {
  const won = person.state?.phase === 'elected' ? person.state.won.term : 0n;
  const all = model.people.map((other) => (other.id === person.id ? person : other));
  return { ...model, people: all, elected: won > model.elected ? won : model.elected };
}

/** A key of the whole state. */
export function keyOf({ shelf, people: all, late, budget, elected, terms, marks }: Model): string {
  const news = late.map(({ by, attempt, call }) => `${by}${attempt}${call.type === 'swap' ? describe(call.changes) : call.type}`);
  const seen = terms.map(({ termEntry }) => termEntry && textOf(termEntry));
  const marked = marks.map(({ key, revision }) => `${key}@${revision}`).join();
  return [shelf.key, ...all.map(people.keyOf), news.join(), Object.values(budget).join(), elected, ...seen, marked].join('\n');
}

const fromUtf8 = new TextDecoder();
const texts = new WeakMap<Entry, string>();

function textOf(entry: Entry): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const text = `${entry.revision}${fromUtf8.decode(entry.value)}`;
  texts.set(entry, text);
  return text;
}

function describe(changes: readonly Change[]): string {
  return changes.map((change: Change & { readonly expect: Entry['revision'] | null }) => `${change.key}?${change.expect}`).join('&');
}
