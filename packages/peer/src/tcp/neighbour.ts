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

/** The member has restarted, and its new process has connected. */
const restarted = new Error('the member has restarted');

export class Neighbour {
  readonly memberId: string;
  readonly #context: NeighbourContext;
  readonly #outbox: Outbox;
  #connection: Connection | undefined;
  /** Connections that were replaced, and may still receive messages. */
  readonly #retired = new Set<Connection>();
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
  async untilDisconnected(): Promise<void> {
    await this.#connection?.over;
  }

  /**
   * Makes this the connection with the member, and returns it. If both members have dialled each
   * other, both keep the preferred connection. If that is the present one, returns the present one.
   * The other connection ends when the messages that were sent on it have arrived.
   */
  connect(wire: Wire, handshake: Handshake, isPreferred: boolean): Connection {
    const isSameProcess = this.#incarnation === handshake.incarnation;
    if (!isSameProcess) this.#forget();
    this.#incarnation = handshake.incarnation;
    const present = this.#connection;
    const connection = this.#open(wire, handshake);
    if (present !== undefined && this.#isPreferred && !isPreferred) {
      this.#retire(connection);
      return present;
    }
    if (present === undefined) this.#context.telemetry.emit('peerConnected', { with: this.memberId });
    else this.#retire(present);
    this.#isPreferred = isPreferred;
    this.#connection = connection;
    connection.flush();
    return connection;
  }

  close(why: unknown): void {
    for (const connection of [...this.#retired, this.#connection]) connection?.end(why);
    this.#outbox.clear();
  }

  /** The new process must not receive messages for the old one, nor be taken for it. */
  #forget(): void {
    // Before the first connection, the messages that wait are for the process that has connected.
    if (this.#incarnation !== undefined) this.#outbox.clear();
    for (const connection of [...this.#retired, this.#connection]) connection?.end(restarted);
    if (this.#connection !== undefined) this.#disconnected(restarted);
  }

  #open(wire: Wire, handshake: Handshake): Connection {
    const { clock, keepaliveMs, receive } = this.#context;
    const connection = new Connection(wire, handshake, {
      clock,
      keepaliveMs,
      outbox: this.#outbox,
      receive: (bytes) => receive(this.memberId, bytes),
    });
    void connection.over.then((why) => this.#lost(connection, why));
    return connection;
  }

  #retire(connection: Connection): void {
    this.#retired.add(connection);
    connection.retire();
  }

  #lost(connection: Connection, why: unknown): void {
    if (why instanceof Refused) this.#context.refuse(new Refused(why.reason, { ...why.facts, from: this.memberId }));
    this.#retired.delete(connection);
    if (this.#connection === connection) this.#disconnected(why);
  }

  #disconnected(why: unknown): void {
    this.#connection = undefined;
    this.#context.telemetry.emit('peerDisconnected', { with: this.memberId, why: describeError(why) });
  }
}
