/**
 * The events of a broker, for the page and the parent process. Times are in ms on the host's
 * monotonic clock.
 */

import type { Moment } from './faults.ts';

/**
 * What rejected a stale term: the store's guard, a broker's fence for controllers, or a replica's
 * fence for leaders.
 */
export type Refuser = 'store' | 'broker' | 'replica';

/** A term that was rejected because a newer one had been seen. */
export interface Refusal {
  readonly by: Refuser;
  /** What was sent: `write`, `LeaderAndIsr`, or `append to` a partition. */
  readonly what: string;
  /** The id of the broker that sent it. */
  readonly from: string;
  /** The term of a controller, or the epoch of a partition's leader. */
  readonly stale: bigint;
  /** The newer term or epoch. Undefined if the store rejected a write: its answer has no term. */
  readonly seen: bigint | undefined;
}

export type BrokerEventBody =
  /** It was elected controller. */
  | { readonly type: 'elected'; readonly term: bigint }
  /** It knows that it is not the controller any more. */
  | { readonly type: 'ended'; readonly term: bigint; readonly reason: string }
  /** The first request of a controller in this term: from now on older controllers are rejected. */
  | { readonly type: 'heard'; readonly term: bigint }
  /** It starts to lead a partition. */
  | { readonly type: 'leads'; readonly partition: string; readonly epoch: number }
  /** It stops leading the partition. */
  | { readonly type: 'follows'; readonly partition: string; readonly epoch: number }
  | (Refusal & { readonly type: 'refused' })
  /** The process is about to be paused. */
  | { readonly type: 'stopping'; readonly before: Moment; readonly term: bigint | undefined };

export type BrokerEvent = BrokerEventBody & { readonly at: number };

/**
 * The time on the clock that all processes of the host share, so that their times can be compared.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
