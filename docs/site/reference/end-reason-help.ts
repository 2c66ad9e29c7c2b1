/**
 * What each reason for the end of a leadership means and what to do. The type makes a new reason
 * without an entry a compile error. `pnpm reference` writes docs/reference/events.md from it.
 */

import type { LeadershipEndReason } from '@incumbent/core';

/** Why a leadership ends: `LeadershipEnd.reason`. */
export const endReasons: Readonly<
  Record<LeadershipEndReason, { readonly meaning: string; readonly remedy: string }>
> = {
  resigned: {
    meaning: 'The leader resigned: `resign()`, or the work of `lead` returned.',
    remedy: 'None.',
  },
  workFailed: {
    meaning: 'The work of `lead` threw an error, which `error` has. The leader resigned.',
    remedy: 'Correct the work. `lead` rejects with the error, or goes on if `retry` says so.',
  },
  steppedDown: {
    meaning:
      'An operator made the leader step down: `incumbent resign`, or `ElectionAdmin.stepDown`.',
    remedy: 'None.',
  },
  handover: { meaning: 'The leader handed over to a candidate.', remedy: 'None.' },
  memberClosed: {
    meaning:
      'The member was closed: `close()`, `shutdown()`, or a signal of `shutdownOn`. If ' +
      '`shutdown()` hands over, the store and all observers have the reason `handover` for the ' +
      'same term.',
    remedy: 'None.',
  },
  deadline: {
    meaning: 'No renewal was acknowledged in time.',
    remedy:
      'See `loopBlockedMs` and `errors`. A blocked event loop: move the work to a worker. ' +
      'Errors of the store: check the store. Neither: the network was cut, or the process had ' +
      'no CPU. Raise `ttlMs` if such pauses are normal.',
  },
  leaseExpired: {
    meaning: 'The store said that the lease is gone.',
    remedy:
      'Find out whether an operator revoked the lease, or the store ended it early ' +
      '([stores](../stores.md)).',
  },
  clockJump: {
    meaning: 'The wall clock passed the deadline before the monotonic clock did.',
    remedy:
      'The machine was suspended, or its clock was set forward ([When clocks go ' +
      'wrong](../operations.md#when-clocks-go-wrong)).',
  },
  replaced: {
    meaning: "Another process took the member id with `onDuplicate: 'replace'`.",
    remedy:
      'Expected when the new process replaces this one. Otherwise give each process an id of ' +
      'its own.',
  },
  recordDeleted: {
    meaning: 'The record of the leader is gone: somebody deleted it, or ended its lease.',
    remedy:
      'Use `incumbent resign` instead of deleting keys or revoking leases. Otherwise see ' +
      '`leaseExpired`.',
  },
  recordReplaced: {
    meaning: 'Another member has the record or the term.',
    remedy:
      'Find out how the former lease could end unnoticed: deleted keys, a store that was ' +
      'restored, or a store that ends leases early.',
  },
  entryDeleted: {
    meaning:
      'The entry of the leader in the queue is gone: somebody deleted it, or ended its lease.',
    remedy:
      'Use `incumbent resign` instead of deleting keys or revoking leases. Otherwise see ' +
      '`leaseExpired`.',
  },
  termBehind: {
    meaning: 'A fence has seen a newer term, so the store has lost terms.',
    remedy:
      'Find out whether the store was wiped or restored. From now on, this member claims ' +
      'only terms above the one that the fence has seen. Other members may be elected before it, ' +
      'with lower terms, which the fence refuses.',
  },
};
