/** What every checker of a run is: it hears of everything that happens, and says which promises were broken. */

import type { Listener, WorldEvent } from '../world/event.ts';

/** A broken promise. */
export interface Violation {
  /** The promise's name: the same for every way to break it. */
  readonly promise: string;
  readonly atMs: number;
  readonly what: string;
}

export interface Checker extends Listener {
  readonly findings: Findings;
}

/** Tells a checker that knows of one election what belongs to that, or to none. */
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

/** Keeps what was broken: the first few, as one bug breaks a promise again and again. */
export class Findings {
  readonly all: Violation[] = [];

  add(promise: string, atMs: number, what: string): void {
    if (this.all.length < 20) this.all.push({ promise, atMs, what });
  }
}
