/**
 * The rights that a store has used. An API server that has just started denies some requests until
 * it has read all Roles (kubernetes#121635), and its answer is the same as for a missing right.
 */

import type { Clock } from '@incumbent/core';

import type { Right } from './failure.ts';

/** For so long the server may deny a right that it has granted before, in ms. */
const DENIED_MS = 300_000;

export class UsedRights {
  readonly #clock: Clock;
  /** When each right was denied first since its last use, by the monotonic clock. */
  readonly #deniedAtMs = new Map<string, number | undefined>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server has granted the right. */
  noteUse(right: Right): void {
    this.#deniedAtMs.set(nameOf(right), undefined);
  }

  /**
   * The server has denied the right. Returns whether it has granted the right before, and has
   * denied it for less than 5 minutes.
   */
  noteDenial(right: Right): boolean {
    const name = nameOf(right);
    if (!this.#deniedAtMs.has(name)) return false;
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#deniedAtMs.get(name) ?? nowMs;
    this.#deniedAtMs.set(name, sinceMs);
    return nowMs - sinceMs < DENIED_MS;
  }
}

function nameOf({ verb, group, resource, namespace = '' }: Right): string {
  return [verb, group, resource, namespace].join(' ');
}
