/** A member's place at the reaper: its words made messages. */

import type { LeaseId, LeaseTimes, ReapedMember, ReaperSeat, Revocation, WatchedLease } from '@incumbent/core';

import type { Helper } from './helper.ts';
import { machine } from './system.ts';

let counted = 0;

/** For what has to be told from all else that one process tells of. */
export function nextNumber(): number {
  counted += 1;
  return counted;
}

/** What a seat needs of the one reaper of its process. */
type HelperPart = Pick<Helper, 'tell' | 'add' | 'remove' | 'dropStore'>;

export class Seat implements ReaperSeat {
  readonly #helper: HelperPart;
  readonly #owner: number;
  readonly #member: ReapedMember;
  readonly #revocation: Revocation;
  readonly #store: number = nextNumber();
  readonly #leases = new Set<number>();
  #isTold = false;

  constructor(helper: HelperPart, owner: number, member: ReapedMember, revocation: Revocation) {
    this.#helper = helper;
    this.#owner = owner;
    this.#member = member;
    this.#revocation = revocation;
  }

  watch(id: LeaseId): WatchedLease {
    const ticket = this.#revocation.ticketOf(id);
    if (ticket === undefined) return { renewed: () => {}, ended: () => {}, forget: () => {} };
    this.#introduce();
    const lease = nextNumber();
    this.#helper.tell({ type: 'lease', lease, store: this.#store, owner: this.#owner, ticket });
    this.#leases.add(lease);
    return {
      renewed: (times) => this.#renewed(lease, times),
      ended: () => this.#helper.tell({ type: 'ended', lease, at: machine.clock.monotonic() }),
      forget: () => this.#forget(lease),
    };
  }

  async close(): Promise<void> {
    // Those whose end the store could not be asked for in time.
    for (const lease of this.#leases) this.#forget(lease);
    this.#helper.dropStore(this.#store);
    await this.#helper.remove(this.#member);
  }

  #forget(lease: number): void {
    if (this.#leases.delete(lease)) this.#helper.tell({ type: 'forget', lease });
  }

  #introduce(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#helper.add(this.#member);
    const { module, access } = this.#revocation;
    this.#helper.tell({ type: 'store', store: this.#store, module, access });
    if (process.pid === 1)
      this.#member.emit('reaperLost', {
        why: 'this process is the first of its container, and all others die with it: start it below an init',
      });
  }

  /** The machine's clocks first: were this process paused between the looks, the times would come out too early, and never too late. */
  #renewed(lease: number, { safeUntil, overBy }: LeaseTimes): void {
    const [now, wall] = [machine.clock.monotonic(), machine.clock.wall()];
    const own = this.#member.clock.monotonic();
    const [safeMs, overMs] = [safeUntil - own, overBy - own];
    this.#helper.tell({ type: 'renewed', lease, safeUntil: now + safeMs, wallSafeUntil: wall + safeMs, overBy: now + overMs });
  }
}
