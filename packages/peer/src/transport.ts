/**
 * Carries messages between members. It may lose, delay, repeat and reorder them, but never invents
 * one.
 */

import type { Contact } from './algorithm.ts';

/** A message in transit: plain data. */
export interface Frame {
  /** The sender's configuration. */
  readonly configuration: string;
  readonly message: unknown;
}

/** Called for each incoming frame, with the id of its sender. The transport guarantees that id. */
export type Receive = (from: string, frame: Frame) => void;

/**
 * Called when the transport knows by itself how to reach members, and again when that changes.
 * `self` is the address at which other members reach this one.
 */
export type Found = (self: string, seeds: readonly Contact[]) => void;

/** Which member opens the link, and who the other members are. */
export type LinkOptions = ListedLinkOptions | OpenLinkOptions;

/** All members are known from the start. */
export interface ListedLinkOptions {
  readonly memberId: string;
  /** All members, this one included. */
  readonly members: readonly string[];
  readonly receive: Receive;
}

/**
 * Members come and go. The transport admits every process that proves an id, in whatever way the
 * transport requires; the algorithm decides who counts as a member. Members send one another their
 * addresses, and each frame goes out with the address of its receiver.
 */
export interface OpenLinkOptions {
  readonly memberId: string;
  readonly members: 'open';
  readonly receive: Receive;
  /** Not called before `open` has resolved. */
  readonly found: Found;
}

/** The network of one election, as a member uses it. */
export interface Transport {
  /**
   * Joins the network. No frame arrives before it resolves. Rejects if it cannot join, or does not
   * know how to reach one of the members.
   */
  open(options: LinkOptions): Promise<Link>;
}

/** An open link of one member to all others. */
export interface Link {
  /**
   * Sends the frame or drops it. Never blocks, never throws, and never calls `receive` before it
   * returns. Of one `sort`, only the newest frame counts for a member, so a newer one may replace
   * an older one that waits. `at`: the address of a member that is not listed. Empty: its id is
   * enough.
   */
  send(to: string, frame: Frame, sort: string, at?: string): void;
  /** After it resolves, no frame arrives any more. */
  close(): Promise<void>;
}
