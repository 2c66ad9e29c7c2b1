/** What carries messages between members. It may lose, delay, repeat and reorder them, but must not make any up. */

/** A message under way: plain data. */
export interface Frame {
  /** The configuration that its sender runs with. */
  readonly configuration: string;
  readonly message: unknown;
}

/** Called for each frame that comes in, with the id of the member that sent it, which the transport answers for. */
export type Receive = (from: string, frame: Frame) => void;

export interface Transport {
  /** Takes part as this member. Nothing comes in before it resolves. */
  open(memberId: string, receive: Receive): Promise<Link>;
}

export interface Link {
  /** Sends, or drops: never blocks, never throws, and never calls `receive` before it returns. */
  send(to: string, frame: Frame): void;
  /** After it resolves nothing comes in any more. */
  close(): Promise<void>;
}
