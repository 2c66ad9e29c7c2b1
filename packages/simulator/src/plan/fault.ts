/** What can go wrong, as data: a plan of faults says everything about a run that its seed does not. */

import type { Side } from '../network/link.ts';
import type { HangMode } from '../store/disks.ts';
import type { StoreOperation } from '../store/shape.ts';

/** Something the election just did, at the store or in a process; a fault can wait for it. The `subject` is the process that did it. */
export type Trigger =
  /** A claim was applied: the subject leads, and does not know it yet. */
  | 'claimed'
  /** A handover in one swap was applied; the subject is who handed over. */
  | 'handedOver'
  /** A leader's record was taken away by its holder. */
  | 'released'
  | 'enqueued'
  | 'granted'
  | 'renewed'
  | 'revoked'
  /** A process was told that it leads. */
  | 'elected'
  /** A leader was told that it no longer leads. */
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

/** When: at a moment of world time, or so long after the nth time that something happened (0: at that very instant, before any answer leaves). */
export type When = { readonly atMs: number } | { readonly on: Trigger; readonly nth: number; readonly afterMs: number };

/** The target: a process by its id, the current leader (`leader`), or the process that caused the trigger (`subject`). */
export type Target = string;

type Lasting = { readonly target: Target; readonly durationMs: number };

/** What. Those that last are repaired after `durationMs`, and at the end of the storm at the latest. */
export type FaultAction =
  /** The process is gone; another incarnation starts after `durationMs`. */
  | ({ readonly kind: 'crash' } & Lasting)
  | ({ readonly kind: 'pause' } & Lasting)
  | ({ readonly kind: 'block' } & Lasting)
  | ({ readonly kind: 'suspend' } & Lasting)
  /** It stops in good order, and starts again. */
  | ({ readonly kind: 'leave' } & Lasting)
  /** Another process starts under the same id, while the former lives, and takes it. */
  | { readonly kind: 'takeOver'; readonly target: Target }
  | { readonly kind: 'wallJump'; readonly target: Target; readonly byMs: number }
  | ({ readonly kind: 'cut'; readonly side: Side } & Lasting)
  | ({ readonly kind: 'refuse' } & Lasting)
  | ({ readonly kind: 'stall' } & Lasting)
  /** The messages of watches are held: calls go through, and nobody is told. */
  | ({ readonly kind: 'stallWatches' } & Lasting)
  /** The connections that the process has deliver nothing any more, for good. New ones work. */
  | { readonly kind: 'silenceConnections'; readonly target: Target }
  | { readonly kind: 'reset'; readonly target: Target }
  | ({ readonly kind: 'slow'; readonly byMs: number } & Lasting)
  | ({ readonly kind: 'lossy'; readonly ratio: number } & Lasting)
  | { readonly kind: 'loseReplies'; readonly target: Target; readonly count: number; readonly operations?: readonly StoreOperation[] }
  /** Writes are applied long after their callers gave up. */
  | ({ readonly kind: 'holdWrites'; readonly operations?: readonly StoreOperation[] } & Lasting)
  /** This part of all watches breaks off: compaction, a server that went away; or `denied`: it ends, for an operator took the permission, and gave it back. */
  | { readonly kind: 'breakWatches'; readonly part: number; readonly denied?: boolean }
  /** The store serves nobody for a while, then refreshes every lease. `lostMs`: what it acknowledged in so many ms before is gone. */
  | { readonly kind: 'failover'; readonly durationMs: number; readonly lostMs?: number }
  /** The disk of one server hangs: it serves no writes, or no linearizable reads, and tells a part of its watches nothing. */
  | {
      readonly kind: 'hangDisk';
      readonly server: number;
      readonly hung: HangMode;
      readonly silentPart: number;
      readonly durationMs: number;
    }
  /** A lease holder that queues first and never claims. */
  | { readonly kind: 'hungCandidate'; readonly durationMs: number }
  /** An operator deletes a key: never the entry of whom the term names. */
  | { readonly kind: 'deleteKey'; readonly which: 'leader' | 'waiting' | 'member' | 'group'; readonly nth: number }
  /** An operator deletes the leader's entry of the queue, while its record is there. Without either of them two could believe. */
  | { readonly kind: 'deleteEntry' }
  /** Somebody ends the live lease of a member: an operator, or the store itself. */
  | { readonly kind: 'endLease'; readonly target: Target; readonly by: 'operator' | 'store' }
  /** The store loses everything. */
  | { readonly kind: 'wipe' };

export type FaultKind = FaultAction['kind'];
export type Fault = FaultAction & { readonly when: When };

/** What there is to say of a fault besides its kind and whom it strikes. */
export function describe(fault: Fault): string {
  const { kind: _kind, when: _when, ...rest } = fault;
  return Object.entries(rest)
    .filter(([name]) => name !== 'target')
    .map(([name, value]) => (name === 'durationMs' ? `for ${String(value)} ms` : `${name} ${String(value)}`))
    .join(', ');
}
