/** Faults as data. The seed and the plan of faults determine everything about a run. */

import type { Side } from '../network/link.ts';
import type { HangMode } from '../store/disks.ts';
import type { StoreOperation } from '../store/shape.ts';

/**
 * An event of the election, in the store or in a process, that a fault can wait for. The `subject`
 * is the process that caused it.
 */
export type Trigger =
  /** The store applied a claim. The subject leads, and does not know it yet. */
  | 'claimed'
  /** The store applied a handover in one swap. The subject is the former leader. */
  | 'handedOver'
  /** A leader deleted its own record. */
  | 'released'
  | 'enqueued'
  | 'granted'
  | 'renewed'
  | 'revoked'
  /** A process learned that it leads. */
  | 'elected'
  /** A leader learned that it no longer leads. */
  | 'aborted';

export const triggers: readonly Trigger[] = [
  'claimed',
  'handedOver',
  'released',
  'enqueued',
  'granted',
  'renewed',
  'revoked',
  'elected',
  'aborted',
];

/**
 * When the fault begins: at a moment of world time in ms, or `afterMs` after the nth occurrence of
 * an event. 0 means at that very instant, before any answer leaves.
 */
export type When = { readonly atMs: number } | { readonly on: Trigger; readonly nth: number; readonly afterMs: number };

/**
 * The target: a process by its id, the current leader (`leader`), or the process that caused the
 * trigger (`subject`).
 */
export type Target = string;

type Lasting = { readonly target: Target; readonly durationMs: number };

/**
 * An operator reads the state of the election, and sends the request for that term `delayMs` later,
 * or at the end of the storm. The term may be over by then. `lostReplies`: how many answers to its
 * swaps are lost.
 */
type OperatorRequest = { readonly delayMs: number; readonly lostReplies: number };

/**
 * What happens. A fault that lasts is repaired after `durationMs`, and at the end of the storm at
 * the latest.
 */
export type FaultAction =
  /** The process dies. Another incarnation starts after `durationMs`. */
  | ({ readonly kind: 'crash' } & Lasting)
  | ({ readonly kind: 'pause' } & Lasting)
  | ({ readonly kind: 'block' } & Lasting)
  | ({ readonly kind: 'suspend' } & Lasting)
  /** The process stops in good order and starts again. */
  | ({ readonly kind: 'leave' } & Lasting)
  /** Another process starts under the same id while the former one lives, and takes the id. */
  | { readonly kind: 'takeOver'; readonly target: Target }
  | { readonly kind: 'wallJump'; readonly target: Target; readonly byMs: number }
  | ({ readonly kind: 'cut'; readonly side: Side } & Lasting)
  | ({ readonly kind: 'refuse' } & Lasting)
  | ({ readonly kind: 'stall' } & Lasting)
  /** The messages of watches are held. Calls succeed, and no watch reports a change. */
  | ({ readonly kind: 'stallWatches' } & Lasting)
  /** The existing connections of the process deliver nothing, permanently. New connections work. */
  | { readonly kind: 'silenceConnections'; readonly target: Target }
  | { readonly kind: 'reset'; readonly target: Target }
  | ({ readonly kind: 'slow'; readonly byMs: number } & Lasting)
  | ({ readonly kind: 'lossy'; readonly ratio: number } & Lasting)
  | { readonly kind: 'loseReplies'; readonly target: Target; readonly count: number; readonly operations?: readonly StoreOperation[] }
  /** The store applies writes long after their callers gave up. */
  | ({ readonly kind: 'holdWrites'; readonly operations?: readonly StoreOperation[] } & Lasting)
  /**
   * This part of all watches breaks off, as after a compaction or the loss of a server. `denied`:
   * the watches end because an operator revoked the permission and then restored it.
   */
  | { readonly kind: 'breakWatches'; readonly part: number; readonly denied?: boolean }
  /**
   * The store serves no requests for a while and then refreshes every lease. `lostMs`: the store
   * loses what it acknowledged in this many ms before.
   */
  | { readonly kind: 'failover'; readonly durationMs: number; readonly lostMs?: number }
  /**
   * The disk of one server hangs. The server serves no writes, or no linearizable reads, and a part
   * of its watches reports nothing.
   */
  | {
      readonly kind: 'hangDisk';
      readonly server: number;
      readonly hung: HangMode;
      readonly silentPart: number;
      readonly durationMs: number;
    }
  /** A client with a lease enqueues an entry ahead of all others and never claims. */
  | { readonly kind: 'hungCandidate'; readonly durationMs: number }
  /** An operator deletes a key, except for the entry that the term names. */
  | { readonly kind: 'deleteKey'; readonly which: 'leader' | 'waiting' | 'member' | 'group'; readonly nth: number }
  /**
   * An operator deletes the leader's entry of the queue while the leader's record exists. Without
   * the record and the entry, two members could be valid.
   */
  | { readonly kind: 'deleteEntry' }
  /** An operator requests that the leader step down. */
  | ({ readonly kind: 'requestStepDown' } & OperatorRequest)
  /**
   * An operator requests that the leader hand over to a candidate, the nth in the queue.
   * `withdrawnAfterMs`: the operator withdraws the request after so many ms. Default: never.
   */
  | ({ readonly kind: 'requestHandover'; readonly nth: number; readonly withdrawnAfterMs?: number } & OperatorRequest)
  /** An operator or the store itself ends the live lease of a member. */
  | { readonly kind: 'endLease'; readonly target: Target; readonly by: 'operator' | 'store' }
  /** The store loses all data. */
  | { readonly kind: 'wipe' };

/** The kinds of faults. */
export type FaultKind = FaultAction['kind'];
/** One fault of a plan: what happens, and when. */
export type Fault = FaultAction & { readonly when: When };

/** The properties of a fault besides its kind and its target. */
export function describe(fault: Fault): string {
  const { kind: _kind, when: _when, ...rest } = fault;
  return Object.entries(rest)
    .filter(([name]) => name !== 'target')
    .map(([name, value]) => (name === 'durationMs' ? `for ${String(value)} ms` : `${name} ${String(value)}`))
    .join(', ');
}
