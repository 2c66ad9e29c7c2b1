/** What carries messages between members. It may lose, delay, repeat and reorder them, but must not make any up. */

/** A message under way: plain data. */
export interface Frame {
  /** The configuration that its sender runs with. */
  readonly configuration: string;
  readonly message: unknown;
}

/** Called for each frame that comes in, with the id of the member that sent it, which the transport answers for. */
export type Receive = (from: string, frame: Frame) => void;

/** Who takes part, and among whom. */
export interface Seat {
  readonly memberId: string;
  /** All members, this one included. */
  readonly members: readonly string[];
  readonly receive: Receive;
}

export interface Transport {
  /** Takes part. Nothing comes in before it resolves. Rejects where it cannot, or knows no way to one of the members. */
  open(seat: Seat): Promise<Link>;
}

export interface Link {
  /**
   * Sends, or drops: never blocks, never throws, and never calls `receive` before it returns. Of one `sort` only the newest counts to a member: an older
   * one that has not left yet may make way for it.
   */
  send(to: string, frame: Frame, sort: string): void;
  /** After it resolves nothing comes in any more. */
  close(): Promise<void>;
}
