/** What the reaper was told, as it stands now. */

import type { LifeOf, Told } from '../messages.ts';

export interface WatchedLease {
  readonly store: number;
  readonly owner: number;
  readonly ticket: string;
  /** Absent until the store's first answer was told, which comes along with the lease. */
  readonly times?: LeaseTimes;
}

interface LeaseTimes {
  readonly safeUntil: number;
  readonly wallSafeUntil: number;
  readonly overBy: number;
}

export interface BoundGroup extends LifeOf {
  readonly owner: number;
  /** When it was bound. */
  readonly at: number;
  readonly wallAt: number;
}

export class Ledger {
  readonly leases: Map<number, WatchedLease> = new Map();
  readonly groups: Map<number, BoundGroup> = new Map();

  take(message: Told): void {
    switch (message.type) {
      case 'lease':
        this.leases.set(message.lease, message);
        return;
      case 'renewed': {
        const lease = this.leases.get(message.lease);
        if (lease !== undefined) this.leases.set(message.lease, { ...lease, times: message });
        return;
      }
      case 'forget':
        this.leases.delete(message.lease);
        return;
      case 'group':
        this.groups.set(message.pid, message);
        return;
      case 'release':
        this.groups.delete(message.pid);
        return;
      case 'parent':
      case 'store':
      case 'end':
        return;
      default:
        message satisfies never;
    }
  }

  /** Those that must have stopped by now: a lease that they live by may end. */
  overdue(now: number, wall: number): readonly BoundGroup[] {
    return [...this.groups.values()].filter((group) => this.#timesOf(group).some((times) => isOver(times, now, wall)));
  }

  /** In how many ms, at the earliest, a group is overdue by the monotonic clock. Undefined: none will be. */
  nextIn(now: number): number | undefined {
    const times = [...this.groups.values()].flatMap((group) => this.#timesOf(group));
    return times.length === 0 ? undefined : Math.max(Math.min(...times.map(({ safeUntil }) => safeUntil)) - now, 0);
  }

  /**
   * Of the leases that a group lives by. A lease that was lost is forgotten when it is revoked, which the store may not be there for; what is started by the next one
   * does not live by it. Where none stood, the group should not be there.
   */
  #timesOf({ owner, at, wallAt }: BoundGroup): readonly LeaseTimes[] {
    const all = [...this.leases.values()].flatMap((lease) => (lease.owner === owner && lease.times !== undefined ? [lease.times] : []));
    const standing = all.filter((times) => !isOver(times, at, wallAt));
    return standing.length > 0 ? standing : all;
  }

  /** When every lease has ended by itself. */
  get overBy(): number {
    return Math.max(-Infinity, ...[...this.leases.values()].map(({ times }) => times?.overBy ?? -Infinity));
  }
}

function isOver({ safeUntil, wallSafeUntil }: LeaseTimes, now: number, wall: number): boolean {
  return safeUntil <= now || wallSafeUntil <= wall;
}
