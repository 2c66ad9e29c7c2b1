/** What the reaper was told, as it stands now. */

import type { LifeOf, Told } from '../messages.ts';

export interface WatchedLease {
  readonly store: number;
  readonly owner: number;
  readonly ticket: string;
  /** Absent until the store's first answer was told, which comes along with the lease. */
  readonly times?: { readonly safeUntil: number; readonly wallSafeUntil: number; readonly overBy: number };
}

export interface BoundGroup extends LifeOf {
  readonly owner: number;
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

  /** Those that must have stopped by now: a lease of their owner may end. */
  overdue(now: number, wall: number): readonly BoundGroup[] {
    const owners = new Set<number>();
    for (const { owner, times } of this.leases.values()) {
      if (times !== undefined && (times.safeUntil <= now || times.wallSafeUntil <= wall)) owners.add(owner);
    }
    return [...this.groups.values()].filter(({ owner }) => owners.has(owner));
  }

  /** In how many ms, at the earliest, a group is overdue by the monotonic clock. Undefined: none will be. */
  nextIn(now: number): number | undefined {
    const owners = new Set([...this.groups.values()].map(({ owner }) => owner));
    const times = [...this.leases.values()].flatMap(({ owner, times: of }) =>
      of !== undefined && owners.has(owner) ? [of.safeUntil] : [],
    );
    return times.length === 0 ? undefined : Math.max(Math.min(...times) - now, 0);
  }

  /** When every lease has ended by itself. */
  get overBy(): number {
    return Math.max(-Infinity, ...[...this.leases.values()].map(({ times }) => times?.overBy ?? -Infinity));
  }
}
