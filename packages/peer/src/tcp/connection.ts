/**
 * A connection with a member that has proved its id. It carries messages, and pings the other side
 * to detect when it stops answering.
 */

import type { Cancel, Clock } from '@incumbent/core';
import type { Handshake } from './handshake.ts';
import type { Outbox } from './outbox.ts';
import { Refused } from './refusal.ts';
import { SEAL_BYTES } from './seal.ts';
import type { Wire } from './wire.ts';

/**
 * The longest content of a frame, including the byte for its kind. A vote takes about 300 bytes. A
 * list of 250 members and 250 lost members with names and addresses of maximum length fits.
 */
export const CONTENT_BYTES = 262_144;

/** The kinds of content, by the first byte. */
const PACKET = 1;
const PING = 2;
const PONG = 3;

/** The connection ends after this many pings without an answer. */
export const SILENT_KEEPALIVES = 3;

export interface ConnectionContext {
  readonly clock: Clock;
  readonly keepaliveMs: number;
  readonly outbox: Outbox;
  /** Receives a packet's bytes. The connection ends if it throws. */
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
  /** When the other side last answered. */
  #answeredAtMs: number;
  #isRetired = false;

  /** Receives at once, and sends with the first `flush`. */
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
  }

  /** Resolves with the reason when the connection ends. */
  get over(): Promise<unknown> {
    return this.#wire.over;
  }

  /** Sends waiting messages until the socket's buffer is full. */
  flush(): void {
    const { outbox, clock } = this.#context;
    while (!this.#isRetired && !this.#wire.isFull) {
      const content = outbox.take(clock.monotonic());
      if (content === undefined) return;
      this.#send(PACKET, content);
    }
  }

  end(why: unknown): void {
    this.#wire.destroy(why);
  }

  /**
   * Another connection with the same process replaces this one. Receives what that process has sent
   * on this connection, and ends when it has ended the connection too, or at the next ping.
   */
  retire(): void {
    this.#isRetired = true;
    this.#wire.halfClose();
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
        // Do not answer while the buffer is full: a peer that sends pings without reading the
        // answers must not fill the memory.
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
    if (this.#isRetired) return this.end(new Error('another connection has replaced this one'));
    const nowMs = clock.monotonic();
    // This process was paused. The answers may still wait to be read, so do not blame the other
    // side.
    if (nowMs - this.#tickAtMs > keepaliveMs) this.#answeredAtMs = this.#tickAtMs = nowMs;
    if (nowMs - this.#answeredAtMs > SILENT_KEEPALIVES * keepaliveMs)
      return this.end(new Refused('unresponsive', { from: this.memberId, forMs: Math.round(nowMs - this.#answeredAtMs) }));
    if (!this.#wire.isFull) this.#send(PING, Buffer.of(0));
    return this.#arm();
  }
}
