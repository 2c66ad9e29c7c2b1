/**
 * Another member, as this one knows it: what waits for it, and the one connection with it, if there
 * is one.
 */

import type { Clock } from '@incumbent/core';
import type { Telemetry } from '@incumbent/core/adapter';
import { describeError } from '@incumbent/network';
import { Connection, SILENT_KEEPALIVES } from './connection.ts';
import type { Handshake } from './handshake.ts';
import { Outbox } from './outbox.ts';
import { Refused } from './refusal.ts';
import type { Wire } from './wire.ts';

export interface NeighbourContext {
  readonly clock: Clock;
  readonly keepaliveMs: number;
  readonly telemetry: Telemetry;
  readonly receive: (from: string, bytes: Buffer) => void;
  readonly refuse: (refused: Refused) => void;
}

/** Why a connection made way: the same process came again, as it had lost this one. */
const renewed = new Error('connected anew');

export class Neighbour {
  readonly memberId: string;
  readonly #context: NeighbourContext;
  readonly #outbox: Outbox;
  #connection: Connection | undefined;
  #isPreferred = false;
  #incarnation: string | undefined;

  constructor(memberId: string, context: NeighbourContext) {
    this.memberId = memberId;
    this.#context = context;
    this.#outbox = new Outbox(SILENT_KEEPALIVES * context.keepaliveMs);
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  send(sort: string, content: Buffer): void {
    this.#outbox.put(sort, content, this.#context.clock.monotonic());
    this.#connection?.flush();
  }

  /**
   * Whether another process of that member is connected. One that is gone without a word is soon
   * found out, and then its successor is let in.
   */
  isTakenBy(incarnation: string): boolean {
    return this.#connection !== undefined && this.#connection.incarnation !== incarnation;
  }

  /** Resolves when there is no connection with it. */
  async disconnected(): Promise<void> {
    await this.#connection?.over;
  }

  /**
   * From now on this is the connection with it, and is returned. Where both have dialled, both keep
   * the same one of the two: that which is preferred; then the other one, which there is already,
   * is returned.
   */
  connect(wire: Wire, handshake: Handshake, isPreferred: boolean): Connection {
    const { clock, keepaliveMs, telemetry, receive } = this.#context;
    if (this.#connection !== undefined && this.#isPreferred && !isPreferred && this.#incarnation === handshake.incarnation) {
      wire.destroy(renewed);
      return this.#connection;
    }
    this.#connection?.end(renewed);
    this.#isPreferred = isPreferred;
    // What was meant for a process that is gone is not for its successor.
    if (this.#incarnation !== undefined && this.#incarnation !== handshake.incarnation) this.#outbox.clear();
    this.#incarnation = handshake.incarnation;
    const connection = new Connection(wire, handshake, {
      clock,
      keepaliveMs,
      outbox: this.#outbox,
      receive: (bytes) => receive(this.memberId, bytes),
    });
    this.#connection = connection;
    telemetry.emit('peerConnected', { with: this.memberId });
    void connection.over.then((why) => this.#lost(connection, why));
    return connection;
  }

  close(why: unknown): void {
    this.#connection?.end(why);
    this.#outbox.clear();
  }

  #lost(connection: Connection, why: unknown): void {
    if (why instanceof Refused) this.#context.refuse(new Refused(why.reason, { ...why.facts, from: this.memberId }));
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#context.telemetry.emit('peerDisconnected', { with: this.memberId, why: describeError(why) });
  }
}
