/** Waits until the list of members stays the same. */

import type { Cancel, Clock } from '@incumbent/core';
import type { PartitionMember } from './assignment.ts';

/** A list that keeps changing counts after this many times `settleMs`. */
const MOST_WAITS = 10;

/** Passes a list of members on when it has stayed the same for a while. The first one at once. */
export class SettledMembers {
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #assign: (members: readonly PartitionMember[]) => void;
  /** The last list that was passed on, and the one that waits, as text. */
  #assigned: string | undefined;
  #waiting: string | undefined;
  /** When the list began to differ from the last one that was passed on. */
  #changedMs: number | undefined;
  #cancel: Cancel = () => {};

  constructor(clock: Clock, settleMs: number, assign: (members: readonly PartitionMember[]) => void) {
    this.#clock = clock;
    this.#settleMs = settleMs;
    this.#assign = assign;
  }

  update(members: readonly PartitionMember[]): void {
    const text = members
      .map(({ memberId, partitions }) => `${memberId} ${partitions}`)
      .toSorted()
      .join('\n');
    if (text === this.#waiting) return;
    this.close();
    if (text === this.#assigned) {
      this.#changedMs = undefined;
      return;
    }
    this.#waiting = text;
    const settled = (): void => {
      this.#assigned = text;
      this.#waiting = undefined;
      this.#changedMs = undefined;
      this.#assign(members);
    };
    if (this.#assigned === undefined) return settled();
    const now = this.#clock.monotonic();
    this.#changedMs ??= now;
    const latestMs = this.#changedMs + MOST_WAITS * this.#settleMs;
    this.#cancel = this.#clock.schedule(Math.min(this.#settleMs, latestMs - now), settled);
  }

  /** Passes nothing on any more, until the next update. */
  close(): void {
    this.#cancel();
    this.#waiting = undefined;
  }
}
