/**
 * Checks what must hold in a world from outside, by the messages and by asking members whether they
 * lead. Each algorithm adds its own checks.
 */

import type { AlgorithmState, PeerMembership, Safety } from '../../src/index.ts';
import type { Run } from './run.ts';

export interface Violation {
  readonly promise: string;
  readonly atMs: number;
  readonly what: string;
}

/** Everything that a world knows about a message. */
export interface Said {
  readonly type: string;
}

const MOST_VIOLATIONS = 20;
const PAIRS = 'each election ends once';

export class Checks<S extends Safety> {
  readonly violations: Violation[] = [];
  readonly counts: Map<string, number> = new Map();
  /** Names of the processes whose driver has reported an election but not its end. */
  readonly #open = new Set<string>();

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  fail(promise: string, atMs: number, what: string): void {
    if (this.violations.length < MOST_VIOLATIONS) this.violations.push({ promise, atMs, what });
  }

  /** A driver reports an election, even one that is over by now. */
  began(name: string, atMs: number): void {
    if (this.#open.has(name)) this.fail(PAIRS, atMs, `${name} was elected, and its last leadership has not ended`);
    this.#open.add(name);
  }

  /** A driver reports the end of a leadership. */
  ended(name: string, atMs: number): void {
    if (!this.#open.delete(name)) this.fail(PAIRS, atMs, `${name} ended what had not begun`);
  }

  /** A process has ended by itself. It must have no open leadership. */
  stopped(name: string, atMs: number): void {
    if (this.#open.has(name)) this.fail(PAIRS, atMs, `${name} stopped, and its leadership has not ended`);
  }

  /** A member has sent a message. `at`: to that address. */
  sent(_from: string, _to: string, { type }: Said, _atMs: number, _at: string | undefined): void {
    this.count(`sent ${type}`);
  }

  /** A member has made a step. */
  stepped(_id: string, _state: AlgorithmState, _atMs: number): void {}

  /** A member has become leader. */
  elected(_id: string, _self: Run<S>, _all: readonly Run<S>[], _atMs: number): void {}

  /** A member has resumed. A leadership that has ended must not be valid again. */
  validLeaders(_all: readonly Run<S>[], _atMs: number): void {}

  /** The members of an open membership have changed for a process. */
  changed(_name: string, _before: PeerMembership | undefined, _after: PeerMembership | undefined, _atMs: number): void {}
}
