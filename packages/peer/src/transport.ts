/** What carries messages between members. It may lose, delay, repeat and reorder them, but must not make any up. */

import type { Contact } from './algorithm.ts';

/** A message under way: plain data. */
export interface Frame {
  /** The configuration that its sender runs with. */
  readonly configuration: string;
  readonly message: unknown;
}

/** Called for each frame that comes in, with the id of the member that sent it, which the transport answers for. */
export type Receive = (from: string, frame: Frame) => void;

/** Called when the transport knows ways to members by itself, and again when it knows others; `self` is where this member can be reached. */
export type Found = (self: string, seeds: readonly Contact[]) => void;

/** Who takes part, and among whom. */
export type Seat = ListedSeat | OpenSeat;

/** All members are known from the start. */
export interface ListedSeat {
  readonly memberId: string;
  /** All members, this one included. */
  readonly members: readonly string[];
  readonly receive: Receive;
}

/**
 * Members come and go. Whoever proves to be a member of the network, by whatever the transport goes by, is let in under the id that it proves; the algorithm decides
 * whom it counts. Members tell each other their addresses, and each frame goes with that of its receiver.
 */
export interface OpenSeat {
  readonly memberId: string;
  readonly members: 'open';
  readonly receive: Receive;
  /** Not called before `open` has resolved. */
  readonly found: Found;
}

export interface Transport {
  /** Takes part. Nothing comes in before it resolves. Rejects where it cannot, or knows no way to one of the members. */
  open(seat: Seat): Promise<Link>;
}

export interface Link {
  /**
   * Sends, or drops: never blocks, never throws, and never calls `receive` before it returns. Of one `sort` only the newest counts to a member: an older
   * one that has not left yet may make way for it. `at`: where that member is, if it is not listed; empty: its id is enough.
   */
  send(to: string, frame: Frame, sort: string, at?: string): void;
  /** After it resolves nothing comes in any more. */
  close(): Promise<void>;
}
