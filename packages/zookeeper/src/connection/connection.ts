/**
 * One connection of a session to one server. Replies arrive in the order of the requests, and pings
 * find a dead link. Each request settles once: with the server's reply, or with the reason why the
 * connection ended. Nothing is sent twice, and nothing waits for another connection.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { type Endpoint, GRACE_MS, MAX_MESSAGE_MS } from '@incumbent/network';

import { ExchangeError, notConnected } from '../errors.ts';
import { PING, readHeader, requestHeader, Xid, type ReplyHeader } from '../protocol/frame.ts';
import type { Welcome } from '../protocol/hello.ts';
import { MalformedRecord, Reader } from '../protocol/jute.ts';
import { readEvent, type WatchEvent } from '../protocol/watches.ts';
import type { Channel } from './channel.ts';

/** A reply whose body has not been read yet. */
export interface RawReply {
  readonly zxid: bigint;
  readonly code: number;
  /** Empty unless the code is OK. */
  readonly body: Reader;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  /** When the session was asked for, on the monotonic clock. */
  readonly helloAtMs: number;
  readonly onEvent: (event: WatchEvent) => void;
  /**
   * For a lease. Sends no pings: only requests keep the session, and a dead link is found only
   * while requests wait for their replies. Only complete records are signs of life: a reply that
   * arrives slowly delays the next renewal as much as silence does.
   */
  readonly quiet: boolean;
}

interface Pending {
  readonly xid: number;
  readonly sentAtMs: number;
  readonly resolve: (reply: RawReply) => void;
  readonly reject: (error: ExchangeError) => void;
}

/** The highest number of a request. The next one would be negative. */
const MAX_XID = 2 ** 31 - 1;

/** How often a quiet connection checks its link, per third of the session's timeout. */
const QUIET_CHECKS = 4;

export class Connection {
  readonly endpoint: Endpoint;
  readonly welcome: Welcome;
  readonly #channel: Channel;
  readonly #clock: Clock;
  readonly #onEvent: (event: WatchEvent) => void;
  readonly #quiet: boolean;
  readonly #pending: Pending[] = [];
  #cancelCheck: Cancel;
  /** Cancels the last check of a server that was silent for the whole time of a call. */
  #cancelLastCheck: Cancel | undefined;
  #xid = 0;
  #lastZxid = 0n;
  #provenAtMs: number;
  #heardAtMs: number;
  #sentAtMs: number;
  /** When the unanswered ping was sent. */
  #pingedAtMs: number | undefined;
  /** When the first bytes of the record that is arriving came; undefined between records. */
  #recordSinceMs: number | undefined;

  constructor(endpoint: Endpoint, channel: Channel, welcome: Welcome, { clock, helloAtMs, onEvent, quiet }: ConnectionOptions) {
    this.endpoint = endpoint;
    this.welcome = welcome;
    this.#channel = channel;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#quiet = quiet;
    this.#provenAtMs = helloAtMs;
    this.#heardAtMs = clock.monotonic();
    this.#sentAtMs = this.#heardAtMs;
    this.#cancelCheck = clock.schedule(this.#pingAfterMs, () => this.#check());
    void channel.ended.then((reason) => this.#end(reason));
    const record = (bytes: Uint8Array): void => this.#onRecord(bytes);
    channel.receive(quiet ? { record } : { record, partial: () => this.#onPartialRecord() });
  }

  /** True once nothing more can be sent. */
  get over(): boolean {
    return this.#channel.over;
  }

  /** Resolves with the reason when the connection ends. By then every request has settled. */
  get ended(): Promise<ExchangeError> {
    return this.#channel.ended;
  }

  /** The last transaction that the server has reported; 0 for none. */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /**
   * When the latest answered request was sent, on the monotonic clock. The session was alive at
   * some moment after it.
   */
  get provenAtMs(): number {
    return this.#provenAtMs;
  }

  /**
   * Whether a record is arriving: some of its bytes came within the last `withinMs`, and its first
   * ones no more than 30 s ago. False on a quiet connection.
   */
  isReceiving(withinMs: number): boolean {
    return this.#recordSinceMs !== undefined && this.#clock.monotonic() - this.#heardAtMs <= withinMs;
  }

  /**
   * Sends one request. Throws an `ExchangeError` if the connection is over: then nothing was sent.
   * Rejects with an `ExchangeError` (`cut` or `malformed`) if the connection ends before the reply.
   */
  send(type: number, body: Uint8Array): Promise<RawReply> {
    if (this.over) throw notConnected('unreachable', 'the connection was lost before the request was sent');
    this.#xid = this.#xid === MAX_XID ? 1 : this.#xid + 1;
    const { promise, resolve, reject } = Promise.withResolvers<RawReply>();
    this.#pending.push({ xid: this.#xid, sentAtMs: this.#noteSent(), resolve, reject });
    this.#channel.send(requestHeader(this.#xid, type).raw(body).finish());
    return promise;
  }

  /**
   * Call this when a request that was sent at `sentAtMs`, on the monotonic clock, got no reply in
   * its time. Ends the connection if the server has shown no sign of life since then, and shows
   * none within another 50 ms. The next call can then try another server while the session has
   * time.
   */
  leaveIfSilentSince(sentAtMs: number): void {
    if (this.over || this.#heardAtMs > sentAtMs || this.#cancelLastCheck !== undefined) return;
    const heardAtMs = this.#heardAtMs;
    this.#cancelLastCheck = this.#clock.schedule(GRACE_MS, () => {
      this.#cancelLastCheck = undefined;
      if (this.#heardAtMs === heardAtMs) this.#leaveSilent();
    });
  }

  /** Ends the connection at once. Requests under way reject with this reason. */
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
    this.#cancelCheck();
    this.#cancelLastCheck?.();
  }

  #end(reason: ExchangeError): void {
    this.#cancelTimers();
    for (const { reject } of this.#pending.splice(0)) reject(reason);
  }

  #onRecord(record: Uint8Array): void {
    this.#recordSinceMs = undefined;
    this.#heardAtMs = this.#clock.monotonic();
    const reader = new Reader(record);
    const header = readHeader(reader);
    if (header.zxid > this.#lastZxid) this.#lastZxid = header.zxid;
    if (header.xid === Xid.notification) this.#onEvent(readEvent(reader));
    else if (header.xid === Xid.ping) this.#onPong();
    else this.#onReply(header, reader);
  }

  #onPartialRecord(): void {
    const now = this.#clock.monotonic();
    this.#recordSinceMs ??= now;
    if (now - this.#recordSinceMs <= MAX_MESSAGE_MS) this.#heardAtMs = now;
  }

  #onPong(): void {
    this.#prove(this.#pingedAtMs ?? 0);
    this.#pingedAtMs = undefined;
  }

  // Servers answer in the order of the requests. The replies of a server that does not would be
  // given to the wrong callers.
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
   * Ends the connection if the link is dead: nothing arrived for two thirds of the session's
   * timeout, and the oldest unanswered request was sent a third ago. The second condition gives a
   * server time to answer after a pause of this process. The last check, a moment later, lets this
   * process read what arrived during the pause.
   */
  #check(isLastCheck = false): void {
    const now = this.#clock.monotonic();
    if (now >= this.#deadAtMs()) {
      if (!isLastCheck) {
        this.#cancelCheck = this.#clock.schedule(GRACE_MS, () => this.#check(true));
        return;
      }
      this.#leaveSilent();
      return;
    }
    if (this.#quiet) return this.#checkAt(now + this.#pingAfterMs / QUIET_CHECKS);
    if (this.#pingedAtMs === undefined && now >= this.#sentAtMs + this.#pingAfterMs) this.#ping();
    const pingAtMs = this.#pingedAtMs === undefined ? this.#sentAtMs + this.#pingAfterMs : Infinity;
    this.#checkAt(Math.min(pingAtMs, this.#deadAtMs()));
  }

  #leaveSilent(): void {
    const silentMs = Math.round(this.#clock.monotonic() - this.#heardAtMs);
    this.destroy(new ExchangeError({ kind: 'cut' }, `nothing was heard of the server for ${silentMs} ms`));
  }

  #checkAt(atMs: number): void {
    this.#cancelCheck = this.#clock.schedule(atMs - this.#clock.monotonic(), () => this.#check());
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
