/**
 * A connection with a member that has proved who it is: messages, and now and then a question
 * whether the other one still listens.
 */

import type { Cancel, Clock } from '@incumbent/core';
import type { Handshake } from './handshake.ts';
import type { Outbox } from './outbox.ts';
import { Refused } from './refusal.ts';
import { SEAL_BYTES } from './seal.ts';
import type { Wire } from './wire.ts';

/**
 * The longest content of a frame, its kind included. A vote has about 300 bytes; a list of 250
 * members, as many lost, with the longest names and addresses, fits.
 */
export const CONTENT_BYTES = 262_144;

/** What a content is, by its first byte. */
const PACKET = 1;
const PING = 2;
const PONG = 3;

/** So many keepalives without an answer, and the other one is taken to be gone. */
export const SILENT_KEEPALIVES = 3;

export interface ConnectionContext {
  readonly clock: Clock;
  readonly keepaliveMs: number;
  readonly outbox: Outbox;
  /** A packet's bytes; what it throws ends the connection. */
  readonly receive: (bytes: Buffer) => void;
}

export class Connection {
  readonly memberId: string;
  readonly incarnation: string;
  readonly #wire: Wire;
  readonly #handshake: Handshake;
  readonly #context: ConnectionContext;
  #tick: Cancel = () => {};
  #tickAtMs: number;
  /** When the other side answered last. */
  #answeredAtMs: number;

  constructor(wire: Wire, handshake: Handshake, context: ConnectionContext) {
    this.memberId = handshake.memberId;
    this.incarnation = handshake.incarnation;
    this.#wire = wire;
    this.#handshake = handshake;
    this.#context = context;
    this.#answeredAtMs = context.clock.monotonic();
    this.#tickAtMs = this.#answeredAtMs;
    wire.onDrain = () => this.flush();
    wire.stream(CONTENT_BYTES + SEAL_BYTES, (frame) => this.#take(handshake.theirs.open(frame)));
    this.#arm();
    void this.over.then(() => this.#tick());
    this.flush();
  }

  /** Resolves with what ended it. */
  get over(): Promise<unknown> {
    return this.#wire.over;
  }

  /** Sends what waits, as far as the other side takes it. */
  flush(): void {
    const { outbox, clock } = this.#context;
    while (!this.#wire.isFull) {
      const content = outbox.take(clock.monotonic());
      if (content === undefined) return;
      this.#send(PACKET, content);
    }
  }

  end(why: unknown): void {
    this.#wire.destroy(why);
  }

  #send(kind: number, content: Uint8Array): void {
    const bytes = Buffer.concat([Buffer.of(kind), content]);
    this.#wire.write(this.#handshake.ours.sign(bytes), bytes);
  }

  #take(content: Buffer): void {
    const { receive, clock } = this.#context;
    switch (content[0]) {
      case PACKET:
        return receive(content.subarray(1));
      case PING:
        // Whoever asks on and on, and does not read what it is answered, is not answered.
        return this.#wire.isFull ? undefined : this.#send(PONG, content.subarray(1, 2));
      case PONG:
        this.#answeredAtMs = clock.monotonic();
        return undefined;
      default:
        throw new Refused('malformed', { kind: content[0] });
    }
  }

  #arm(): void {
    const { clock, keepaliveMs } = this.#context;
    this.#tickAtMs += keepaliveMs;
    this.#tick = clock.schedule(Math.max(this.#tickAtMs - clock.monotonic(), 1), () => this.#ask());
  }

  #ask(): void {
    const { clock, keepaliveMs } = this.#context;
    const nowMs = clock.monotonic();
    // This process stood still itself: answers may lie there unread, and nobody is to blame.
    if (nowMs - this.#tickAtMs > keepaliveMs) this.#answeredAtMs = this.#tickAtMs = nowMs;
    if (nowMs - this.#answeredAtMs > SILENT_KEEPALIVES * keepaliveMs)
      return this.end(new Refused('unresponsive', { from: this.memberId, forMs: Math.round(nowMs - this.#answeredAtMs) }));
    if (!this.#wire.isFull) this.#send(PING, Buffer.of(0));
    return this.#arm();
  }
}
