/**
 * One connection of a session, to one server: requests out, replies in, in the same order, and pings that find a dead link. Each request settles
 * once: with the server's reply, or with how the connection ended. Nothing is sent twice, and nothing waits here for another connection.
 */

import type { Cancel, Clock } from '@incumbent/core';
import type { Endpoint } from '@incumbent/network';

import type { Channel } from './channel.ts';
import { ExchangeError, notConnected } from './failure.ts';
import type { Welcome } from './handshake.ts';
import { PING, readHeader, requestHeader, Xid, type ReplyHeader } from '../protocol/header.ts';
import { MalformedRecord, Reader } from '../protocol/jute.ts';
import { readEvent, type WatchEvent } from '../protocol/watches.ts';

/** A reply, its body not read yet. */
export interface RawReply {
  readonly zxid: bigint;
  readonly code: number;
  /** Empty unless the code is OK. */
  readonly body: Reader;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  /** The moment, on the monotonic clock, at which the session was asked for. */
  readonly greetedAtMs: number;
  readonly onEvent: (event: WatchEvent) => void;
  /** No pings: the session lives by its requests alone, and a dead link is found when there are any. */
  readonly quiet: boolean;
}

interface Pending {
  readonly xid: number;
  readonly sentAtMs: number;
  readonly resolve: (reply: RawReply) => void;
  readonly reject: (error: ExchangeError) => void;
}

/** Beyond it a number would be negative. */
const MAX_XID = 2 ** 31 - 1;

/** How often a quiet connection looks whether it is dead, in a third of the session's time. */
const QUIET_TICKS = 4;

/** After a pause of this process, what came in meanwhile is read before it is taken for silence. */
export const GRACE_MS = 50;

export class Connection {
  readonly endpoint: Endpoint;
  readonly welcome: Welcome;
  readonly #channel: Channel;
  readonly #clock: Clock;
  readonly #onEvent: (event: WatchEvent) => void;
  readonly #quiet: boolean;
  readonly #pending: Pending[] = [];
  #cancelTick: Cancel;
  /** Of the last look at a server that has been silent for all the time of a call. */
  #cancelLook: Cancel | undefined;
  #xid = 0;
  #lastZxid = 0n;
  #provenAtMs: number;
  #heardAtMs: number;
  #sentAtMs: number;
  /** When the ping was sent that has no answer yet. */
  #pingedAtMs: number | undefined;

  constructor(endpoint: Endpoint, channel: Channel, welcome: Welcome, { clock, greetedAtMs, onEvent, quiet }: ConnectionOptions) {
    this.endpoint = endpoint;
    this.welcome = welcome;
    this.#channel = channel;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#quiet = quiet;
    this.#provenAtMs = greetedAtMs;
    this.#heardAtMs = clock.monotonic();
    this.#sentAtMs = this.#heardAtMs;
    this.#cancelTick = clock.schedule(this.#pingAfterMs, () => this.#tick());
    void channel.ended.then((reason) => this.#end(reason));
    channel.receive((record) => this.#onRecord(record));
  }

  /** True once nothing more can be sent. */
  get over(): boolean {
    return this.#channel.over;
  }

  /** Resolves when it is over, with the reason. Then every request has settled. */
  get ended(): Promise<ExchangeError> {
    return this.#channel.ended;
  }

  /** The last transaction that the server has told of; 0 for none. */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /** When the latest of what was answered had been sent, on the monotonic clock: the session has lived at some moment since. */
  get provenAtMs(): number {
    return this.#provenAtMs;
  }

  /** Throws an `ExchangeError` where it is over: then nothing was sent. Rejects with one if it ends before the reply: `cut` or `malformed`. */
  send(type: number, body: Uint8Array): Promise<RawReply> {
    if (this.over) throw notConnected('unreachable', 'the connection was lost before the request was sent');
    this.#xid = this.#xid === MAX_XID ? 1 : this.#xid + 1;
    const { promise, resolve, reject } = Promise.withResolvers<RawReply>();
    this.#pending.push({ xid: this.#xid, sentAtMs: this.#noteSent(), resolve, reject });
    this.#channel.send(requestHeader(this.#xid, type).raw(body).finish());
    return promise;
  }

  /**
   * For a call that was sent at `sentAtMs`, on the monotonic clock, and got no answer in its time: ends the connection if nothing has been heard of the
   * server since then, and is not within a moment. Another server may answer the next call, while the session still has time.
   */
  leaveIfSilentSince(sentAtMs: number): void {
    if (this.over || this.#heardAtMs > sentAtMs || this.#cancelLook !== undefined) return;
    const heardAtMs = this.#heardAtMs;
    this.#cancelLook = this.#clock.schedule(GRACE_MS, () => {
      this.#cancelLook = undefined;
      if (this.#heardAtMs === heardAtMs) this.#leaveSilent();
    });
  }

  /** Ends it at once. What is under way fails with this reason. */
  destroy(reason: ExchangeError): void {
    this.#channel.destroy(reason);
    this.#cancelTimers();
  }

  get #pingAfterMs(): number {
    return this.welcome.timeoutMs / 3;
  }

  #noteSent(): number {
    this.#sentAtMs = this.#clock.monotonic();
    return this.#sentAtMs;
  }

  #cancelTimers(): void {
    this.#cancelTick();
    this.#cancelLook?.();
  }

  #end(reason: ExchangeError): void {
    this.#cancelTimers();
    for (const { reject } of this.#pending.splice(0)) reject(reason);
  }

  #onRecord(record: Uint8Array): void {
    this.#heardAtMs = this.#clock.monotonic();
    const reader = new Reader(record);
    const header = readHeader(reader);
    if (header.zxid > this.#lastZxid) this.#lastZxid = header.zxid;
    if (header.xid === Xid.notification) this.#onEvent(readEvent(reader));
    else if (header.xid === Xid.ping) this.#onPong();
    else this.#onReply(header, reader);
  }

  #onPong(): void {
    this.#prove(this.#pingedAtMs ?? 0);
    this.#pingedAtMs = undefined;
  }

  // Servers answer in the order in which they were asked. One that does not would have its replies taken for others.
  #onReply({ xid, zxid, code }: ReplyHeader, body: Reader): void {
    const [next] = this.#pending;
    if (next?.xid !== xid) throw new MalformedRecord(`a reply to request ${xid} came where one to ${next?.xid ?? 'none'} belongs`);
    this.#pending.shift();
    this.#prove(next.sentAtMs);
    next.resolve({ zxid, code, body });
  }

  #prove(sentAtMs: number): void {
    this.#provenAtMs = Math.max(this.#provenAtMs, sentAtMs);
  }

  /**
   * A link is dead when nothing was heard for two thirds of the session's time, and what should have been answered was sent a third ago: after
   * a pause of this process, the second makes time for what has come meanwhile; and so does a last look, for what had been asked before it.
   */
  #tick(isLastLook = false): void {
    const now = this.#clock.monotonic();
    if (now >= this.#deadAtMs()) {
      if (!isLastLook) {
        this.#cancelTick = this.#clock.schedule(GRACE_MS, () => this.#tick(true));
        return;
      }
      this.#leaveSilent();
      return;
    }
    if (this.#quiet) return this.#tickAt(now + this.#pingAfterMs / QUIET_TICKS);
    if (this.#pingedAtMs === undefined && now >= this.#sentAtMs + this.#pingAfterMs) this.#ping();
    const pingAtMs = this.#pingedAtMs === undefined ? this.#sentAtMs + this.#pingAfterMs : Infinity;
    this.#tickAt(Math.min(pingAtMs, this.#deadAtMs()));
  }

  #leaveSilent(): void {
    const silentMs = Math.round(this.#clock.monotonic() - this.#heardAtMs);
    this.destroy(new ExchangeError({ kind: 'cut' }, `nothing was heard of the server for ${silentMs} ms`));
  }

  #tickAt(atMs: number): void {
    this.#cancelTick = this.#clock.schedule(atMs - this.#clock.monotonic(), () => this.#tick());
  }

  #deadAtMs(): number {
    const askedAtMs = Math.min(this.#pending[0]?.sentAtMs ?? Infinity, this.#pingedAtMs ?? Infinity);
    return Math.max(this.#heardAtMs + 2 * this.#pingAfterMs, askedAtMs + this.#pingAfterMs);
  }

  #ping(): void {
    this.#pingedAtMs = this.#noteSent();
    this.#channel.send(requestHeader(Xid.ping, PING).finish());
  }
}
