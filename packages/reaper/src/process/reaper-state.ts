/**
 * What the reaper process knows of its parent's leases and process groups, from the messages so
 * far.
 */

import type { ParentMessage, ProcessId } from '../messages.ts';

export interface WatchedLease {
  readonly lease: number;
  readonly store: number;
  readonly owner: number;
  readonly ticket: string;
  /** When the member got the lease. Groups bound earlier do not depend on it. */
  readonly from?: number;
  /** Absent until the first `renewed` message, which follows the `lease` message at once. */
  readonly times?: LeaseTimes;
  /** When the last leadership under the lease ended. Groups bound later do not depend on it. */
  readonly endedAt?: number;
}

type TimedLease = WatchedLease & Required<Pick<WatchedLease, 'times'>>;

interface LeaseTimes {
  readonly safeUntil: number;
  readonly wallSafeUntil: number;
  readonly overBy: number;
}

export interface BoundGroup extends ProcessId {
  readonly owner: number;
  /** When the group was bound, on the monotonic clock. */
  readonly at: number;
  readonly wallAt: number;
}

export class ReaperState {
  readonly leases: Map<number, WatchedLease> = new Map();
  readonly groups: Map<number, BoundGroup> = new Map();
  /** Groups that depended on a lease that is gone. */
  readonly #leaseless = new Set<number>();

  apply(message: ParentMessage): void {
    switch (message.type) {
      case 'lease':
        this.leases.set(message.lease, message);
        return;
      case 'renewed': {
        const lease = this.leases.get(message.lease);
        if (lease !== undefined) this.leases.set(message.lease, { ...lease, times: message });
        return;
      }
      case 'ended': {
        const lease = this.leases.get(message.lease);
        if (lease !== undefined) this.leases.set(message.lease, { ...lease, endedAt: message.at });
        return;
      }
      case 'forget':
        for (const [pid, group] of this.groups)
          if (this.#leasesOf(group).some(({ lease }) => lease === message.lease)) this.#leaseless.add(pid);
        this.leases.delete(message.lease);
        return;
      case 'group':
        this.groups.set(message.pid, message);
        this.#leaseless.delete(message.pid);
        return;
      case 'release':
        this.groups.delete(message.pid);
        this.#leaseless.delete(message.pid);
        return;
      case 'parent':
      case 'store':
      case 'dropStore':
      case 'end':
        return;
      default:
        message satisfies never;
    }
  }

  /**
   * The groups that must not run any more: a lease that they depend on is gone, or may expire now.
   */
  overdueGroups(now: number, wall: number): readonly BoundGroup[] {
    return [...this.groups.values()].filter(
      (group) => this.#leaseless.has(group.pid) || this.#leasesOf(group).some(({ times }) => isPast(times, now, wall)),
    );
  }

  /**
   * In how many ms the next deadline passes on the monotonic clock. Undefined if all have passed,
   * or if no group has one.
   */
  nextDeadlineInMs(now: number): number | undefined {
    const times = [...this.groups.values()].flatMap((group) => this.#leasesOf(group)).map((lease) => lease.times.safeUntil);
    const ahead = times.filter((safeUntil) => safeUntil > now);
    return ahead.length === 0 ? undefined : Math.min(...ahead) - now;
  }

  /**
   * The leases that a group depends on: those of its owner that were valid when the group was
   * bound. A lease that the owner got later may belong to another member, which shares the reaper;
   * its end says nothing about the leadership that bound the group. A lost lease stays here until
   * it is revoked, which takes long while the store is away; a group that was bound under the next
   * lease does not depend on the lost one. If no lease was valid, the group should not exist, and
   * depends on every lease of its owner.
   */
  #leasesOf({ owner, at, wallAt }: BoundGroup): readonly TimedLease[] {
    const all = [...this.leases.values()].filter((lease): lease is TimedLease => lease.owner === owner && lease.times !== undefined);
    const valid = all.filter(
      ({ times, from = -Infinity, endedAt = Infinity }) => from <= at && !isPast(times, at, wallAt) && at <= endedAt,
    );
    return valid.length > 0 ? valid : all;
  }

  /** When the last lease has expired by itself. `-Infinity` without leases. */
  get allExpiredBy(): number {
    return Math.max(-Infinity, ...[...this.leases.values()].map(({ times }) => times?.overBy ?? -Infinity));
  }
}

function isPast({ safeUntil, wallSafeUntil }: LeaseTimes, now: number, wall: number): boolean {
  return safeUntil <= now || wallSafeUntil <= wall;
}
