/** What a broker tells of itself, to the page and to whoever has started it. Moments are in ms, on the one monotonic clock of the host. */

import type { Moment } from './faults.ts';

/** Whose memory of terms refused something stale: the store's guard, a broker's fence for controllers, a replica's for partition leaders. */
export type Refuser = 'store' | 'broker' | 'replica';

export type Told =
  /** It is the controller. */
  | { readonly type: 'elected'; readonly term: bigint }
  /** It is the controller no longer, and knows. */
  | { readonly type: 'ended'; readonly term: bigint; readonly reason: string }
  /** A controller has told it something, for the first time in this term: older ones are refused from now on. */
  | { readonly type: 'heard'; readonly term: bigint }
  /** It leads a partition from now on. */
  | { readonly type: 'leads'; readonly partition: string; readonly epoch: number }
  /** It leads it no longer. */
  | { readonly type: 'follows'; readonly partition: string; readonly epoch: number }
  /** Something that carried `stale` was refused by whoever had seen `seen`. */
  | { readonly type: 'refused'; readonly by: Refuser; readonly what: string; readonly stale: bigint; readonly seen: bigint | undefined }
  /** The process stands still from here on. */
  | { readonly type: 'stopping'; readonly before: Moment; readonly term: bigint | undefined };

export type BrokerEvent = Told & { readonly at: number };

/** Now, on the clock that all processes of a host share: moments of different processes can be compared. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
