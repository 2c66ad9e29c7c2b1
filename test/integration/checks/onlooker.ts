/** An observer in this process, and whether its views were true. */

import assert from 'node:assert/strict';

import { ElectionObserver, type ElectionView, type Store } from 'incumbent';
import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import { until, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { ELECTION, WAIT_MS } from './pair.ts';

/**
 * How long an observer may show an outdated view, in ms: until its next read of the leader's record
 * (19 s at most) has been answered (2.5 s at most).
 */
export const OBSERVER_MS = 22_000;

/** What an observer showed from one moment until its next view. */
export interface Shown {
  readonly at: number;
  readonly view: ElectionView;
}

export class Onlooker implements AsyncDisposable {
  readonly #store: Store;
  readonly #observer: ElectionObserver;
  readonly #shown: Shown[] = [];

  /** Takes ownership of the store. */
  constructor(store: Store) {
    this.#store = store;
    this.#observer = new ElectionObserver(store, ELECTION);
    this.#observer.subscribe((view) => this.#shown.push({ at: now(), view }));
  }

  get shown(): readonly Shown[] {
    return this.#shown;
  }

  /**
   * Resolves when the observer shows that this member leads or, with `orUnknown`, that the leader
   * is unknown.
   */
  async sees(memberId: string, { orUnknown = false } = {}): Promise<void> {
    const isSeen = (): boolean => {
      const { current } = this.#observer;
      return current.state === 'leader' ? current.memberId === memberId : orUnknown && current.state === 'unknown';
    };
    await until(isSeen, { what: `the observer to show ${memberId}`, withinMs: WAIT_MS });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#observer.close();
    await this.#store.close();
  }
}

/** Asserts that no member has lost a leadership or ended a campaign. */
export function assertNothingLost(...members: readonly ScriptProcess[]): void {
  const ends = members.flatMap(({ events }) => events.filter(({ event }) => event === 'ended' || event === 'failed'));
  assert.deepEqual(ends, [], 'the leadership was lost');
}

/**
 * The leader `a` shuts down, `b` succeeds it and also shuts down. Asserts that both histories break
 * no promise, and that the observer's views were true until `b` shut down.
 */
export async function assertSucceeds(a: ScriptProcess, b: ScriptProcess, onlooker: Onlooker): Promise<void> {
  a.sigterm();
  await a.waitFor('closed', { withinMs: WAIT_MS });
  await b.waitFor('elected', { withinMs: WAIT_MS });
  await onlooker.sees('b', { orUnknown: true });
  const shownUntil = now();
  b.sigterm();
  await b.waitFor('closed', { withinMs: WAIT_MS });
  const events = [...historyOf(a, 'a', ELECTION), ...historyOf(b, 'b', ELECTION)];
  assert.deepEqual(checkHistory(events, {}), []);
  assert.deepEqual(untruths(onlooker.shown, events, shownUntil), []);
}

interface Led {
  readonly member: string;
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
}

/**
 * Every view that the observer showed for longer than `withinMs` after it was no longer true, in
 * words. `unknown` is always true. The last view lasts until `endAt`. A view may name a leader that
 * does not know yet that it leads, because the store knows first.
 */
export function untruths(
  shown: readonly Shown[],
  events: readonly HistoryEvent[],
  endAt: number,
  withinMs = OBSERVER_MS,
): readonly string[] {
  const leaderships = leadershipsOf(events);
  return shown.flatMap(({ at, view }, i) => {
    const to = shown[i + 1]?.at ?? endAt;
    const overdue = overdueMs(view, { at, to }, leaderships) - withinMs;
    if (overdue <= 0) return [];
    const what = view.state === 'leader' ? `${view.memberId} in term ${view.term}` : view.state;
    return [`${what} was shown for ${Math.round(overdue + withinMs)} ms after it had ceased to be true`];
  });
}

/** How long a view was shown while it was not true, in ms. */
function overdueMs(view: ElectionView, { at, to }: { at: number; to: number }, leaderships: readonly Led[]): number {
  switch (view.state) {
    case 'unknown':
      return 0;
    case 'vacant':
      return Math.max(0, ...leaderships.map((led) => Math.min(to, led.to) - Math.max(at, led.from)));
    case 'leader': {
      const led = leaderships.find(({ term, member }) => term === view.term && member === view.memberId);
      return led === undefined ? Infinity : Math.max(0, to - Math.max(at, led.to));
    }
    default:
      return view satisfies never;
  }
}

function leadershipsOf(events: readonly HistoryEvent[]): readonly Led[] {
  return events.flatMap((event): readonly Led[] => {
    if (event.type !== 'elected') return [];
    const { member, term, at } = event;
    const end = events.find((other) => other.type === 'ended' && other.member === member && other.term === term);
    const death = events.find((other) => other.type === 'died' && other.member === member && other.at >= at);
    return [{ member, term, from: at, to: end?.at ?? death?.at ?? Infinity }];
  });
}
