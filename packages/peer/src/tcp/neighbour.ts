/** Another member: the messages that wait for it, and the connection with it, if there is one. */

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

/** The other process has opened a new connection that replaces the old one. */
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
   * Whether another process with that member's id is connected. If that process has died silently,
   * the keepalives find out soon, and its successor may connect.
   */
  isTakenBy(incarnation: string): boolean {
    return this.#connection !== undefined && this.#connection.incarnation !== incarnation;
  }

  /** Resolves when there is no connection with this member. */
  async disconnected(): Promise<void> {
    await this.#connection?.over;
  }

  /**
   * Makes this the connection with the member, and returns it. If both members have dialled each
   * other, both keep the preferred connection. If that is the present one, closes the new one and
   * returns the present one.
   */
  connect(wire: Wire, handshake: Handshake, isPreferred: boolean): Connection {
    const { clock, keepaliveMs, telemetry, receive } = this.#context;
    if (this.#connection !== undefined && this.#isPreferred && !isPreferred && this.#incarnation === handshake.incarnation) {
      wire.destroy(renewed);
      return this.#connection;
    }
    this.#connection?.end(renewed);
    this.#isPreferred = isPreferred;
    // The member has restarted. The new process must not receive messages for the old one.
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
