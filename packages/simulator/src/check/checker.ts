/**
 * The interface of every checker of a run. A checker receives every event and reports the promises
 * that were broken.
 */

import type { Listener, WorldEvent } from '../world/event.ts';

/** A broken promise. */
export interface Violation {
  /** The name of the promise. It is the same for every way to break the promise. */
  readonly promise: string;
  readonly atMs: number;
  readonly what: string;
}

export interface Checker extends Listener {
  readonly findings: Findings;
}

/**
 * Passes on the events that belong to one election or to no election. For checkers that know one
 * election only.
 */
export class ElectionFilter implements Listener {
  readonly #election: string;
  readonly #checker: Listener;

  constructor(election: string, checker: Listener) {
    this.#election = election;
    this.#checker = checker;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    if ((electionOf(event) ?? this.#election) === this.#election) this.#checker.onEvent(event, atMs);
  }
}

function electionOf(event: WorldEvent): string | undefined {
  if ('election' in event) return event.election;
  if ('handle' in event) return event.handle.election;
  const [root, election] = event.type === 'request' ? (event.about ?? '').split('/') : [];
  return root === 'elections' ? election : undefined;
}

/** One bug breaks the same promise many times. The rest would say nothing new. */
const MAX_PER_PROMISE = 20;

/**
 * Keeps the first few violations of each promise. A promise that may break in the profile must not
 * displace one that may not.
 */
export class Findings {
  readonly all: Violation[] = [];
  readonly #counts = new Map<string, number>();

  add(promise: string, atMs: number, what: string): void {
    const count = this.#counts.get(promise) ?? 0;
    if (count >= MAX_PER_PROMISE) return;
    this.#counts.set(promise, count + 1);
    this.all.push({ promise, atMs, what });
  }
}
