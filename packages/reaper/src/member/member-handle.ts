/**
 * The handle of one member at the reaper: sends the member's store and leases to the reaper
 * process.
 */

import type { LeaseId, LeaseTimes, ReapedMember, ReaperMemberHandle, Revocation, WatchedLease } from '@incumbent/core';

import { machine } from '../system.ts';
import type { ReaperProcess } from './reaper-process.ts';

let counted = 0;

/** A number that is unique in this process: identifies stores, leases and owners in messages. */
export function nextNumber(): number {
  counted += 1;
  return counted;
}

/** The part of the reaper process that a member's handle uses. */
type Connection = Pick<ReaperProcess, 'send' | 'addListener' | 'removeListener'>;

export class MemberHandle implements ReaperMemberHandle {
  readonly #reaper: Connection;
  readonly #owner: number;
  readonly #member: ReapedMember;
  readonly #revocation: Revocation;
  readonly #store: number = nextNumber();
  readonly #leases = new Set<number>();
  #isAnnounced = false;

  constructor(reaper: Connection, owner: number, member: ReapedMember, revocation: Revocation) {
    this.#reaper = reaper;
    this.#owner = owner;
    this.#member = member;
    this.#revocation = revocation;
  }

  watch(id: LeaseId): WatchedLease {
    const ticket = this.#revocation.ticketOf(id);
    if (ticket === undefined) return { renewed: () => {}, ended: () => {}, forget: () => {} };
    this.#announce();
    const lease = nextNumber();
    const from = machine.clock.monotonic();
    this.#reaper.send({ type: 'lease', lease, store: this.#store, owner: this.#owner, ticket, from });
    this.#leases.add(lease);
    return {
      renewed: (times) => this.#renewed(lease, times),
      ended: () => this.#reaper.send({ type: 'ended', lease, at: machine.clock.monotonic() }),
      forget: () => this.#forget(lease),
    };
  }

  async close(): Promise<void> {
    // Leases that the member could not revoke in time: they expire by themselves.
    for (const lease of this.#leases) this.#forget(lease);
    if (this.#isAnnounced) this.#reaper.send({ type: 'dropStore', store: this.#store });
    await this.#reaper.removeListener(this.#member);
  }

  #forget(lease: number): void {
    if (this.#leases.delete(lease)) this.#reaper.send({ type: 'forget', lease });
  }

  /** Sends the store before the member's first lease. */
  #announce(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    this.#reaper.addListener(this.#member);
    const { module, access } = this.#revocation;
    this.#reaper.send({ type: 'store', store: this.#store, module, access });
    if (process.pid === 1)
      this.#member.emit('reaperLost', {
        why: 'this process is pid 1 of its container: when it dies, the kernel kills the reaper too; start the process below an init',
      });
  }

  /**
   * Converts times of the member's clock to the machine's clocks. Reads the machine's clocks first:
   * if this process is paused between the readings, the times come out too early, never too late.
   */
  #renewed(lease: number, { safeUntil, overBy }: LeaseTimes): void {
    const [now, wall] = [machine.clock.monotonic(), machine.clock.wall()];
    const own = this.#member.clock.monotonic();
    const [safeMs, overMs] = [safeUntil - own, overBy - own];
    this.#reaper.send({ type: 'renewed', lease, safeUntil: now + safeMs, wallSafeUntil: wall + safeMs, overBy: now + overMs });
  }
}
