/** One ZooKeeper session, over one connection after the other. */

import type { CallOptions } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { Attempt, type AttemptOptions, describeError, type Endpoint } from '@incumbent/network';

import { Code } from '../protocol/codes.ts';
import type { Connection, RawReply } from '../connection/connection.ts';
import { answeredWith, callOver, closedSession, ExchangeError, notConnected } from '../connection/failure.ts';
import { MAX_REQUEST_BYTES } from '../protocol/frame.ts';
import type { SessionIdentity } from '../connection/handshake.ts';
import { Writer } from '../protocol/jute.ts';
import { Lifeline, type LifelineOptions } from './session-connector.ts';
import { closeSession } from '../protocol/nodes.ts';
import type { Operation, Reply } from '../protocol/operation.ts';
import { Watches, type WatchListener } from './watch-hub.ts';
import { proveWatches } from './watch-proof.ts';
import type { WatchMode } from '../protocol/watches.ts';

/**
 * `connectTimeoutMs` and `handshakeTimeoutMs` bound what one server may take; after a lost connection each is a third of the session's time at
 * most, so that a silent server leaves time for others.
 */
export interface SessionOptions extends LifelineOptions {
  /** Told after the fact, in order. Must not throw. */
  readonly onEvent?: (event: SessionEvent) => void;
}

export type SessionEvent =
  /** `reattached`: it is the same session as before, and all that lives by it is there. */
  | { readonly type: 'connected'; readonly endpoint: Endpoint; readonly reattached: boolean }
  /** The session lives on; another server is looked for. */
  | { readonly type: 'disconnected'; readonly cause: ExchangeError }
  /** `server`: it is gone. `clock`: it was given up, and may be gone. The last event, unless the session is `lasting`. */
  | { readonly type: 'expired'; readonly by: 'server' | 'clock'; readonly cause: ExchangeError }
  /** The servers do not accept the client's identity any more. The last event. */
  | { readonly type: 'failed'; readonly cause: ExchangeError }
  /** By this side. The last event. */
  | { readonly type: 'closed' };

/** Why a session is over; `ended`: the servers know it no more. */
interface End {
  readonly ended: boolean;
  readonly reason: (sent: boolean) => ExchangeError;
}

/** How long the server keeps a watch that nobody listens to any more. */
const UNWATCH_AFTER_MS = 1_000;

/** How long a watch may take to be made. */
const WATCH_TIMEOUT_MS = 5_000;

/** What precedes every request: its number and its type. */
const HEADER_BYTES = 8;

/**
 * **Calls.** `request` makes one attempt. It resolves with what a server answered with the code OK. It rejects with the signal's reason if that aborts,
 * and otherwise with an {@link ExchangeError}, whose outcome `errors.ts` judges. While there is no connection a call waits for one within its
 * own time. Nothing is sent twice. A call keeps the process alive until it settles, unless it is `background`; nothing else here does.
 *
 * **Reconnection.** When its connection is lost, or has been silent for all the time that a call had, the session goes to another server, within
 * `timeoutMs` from the sending of the last request that was answered. Calls under way end as `cut`. When that time is over, or a server does not know
 * the session, it has `expired`.
 *
 * **The end.** `close` ends the session on the servers: all that lives by it is gone when that resolves. `abandon` leaves it to its timeout. Both
 * free the socket and every timer, and fail what is under way as `closed`.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #lifeline: Lifeline;
  readonly #watches: Watches;
  readonly #attempts = new Set<Attempt>();
  #stopProving = (): void => {};
  #end: End | undefined;

  /** For {@link openSession}, and for who has to know it before it is open. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#watches = new Watches({
      ask: (operation, request) => this.request(operation, request, { timeoutMs: WATCH_TIMEOUT_MS, background: true }),
      reset: (cause) => this.#lifeline.connection?.destroy(cause),
      later: (task) => options.clock.schedule(UNWATCH_AFTER_MS, task),
    });
    this.#lifeline = new Lifeline(options, {
      onConnected: (connection, reattached) => this.#onConnected(connection, reattached),
      onLost: (cause) => this.#onLost(cause),
      onOver: (cause) => this.#onOver(cause),
      onEvent: (event) => this.#watches.onEvent(event),
    });
  }

  /** Id and password: enough for anybody to end the session, should it still live. Of a lasting session, of the present one, if there is one. */
  get identity(): SessionIdentity | undefined {
    return this.#lifeline.identity;
  }

  /** How long the servers keep the session without a sign of life, in ms: what they granted. */
  get timeoutMs(): number {
    return this.#lifeline.timeoutMs;
  }

  /** The server it is connected to; undefined while there is none. */
  get endpoint(): Endpoint | undefined {
    return this.#lifeline.connection?.endpoint;
  }

  /** True once it is over, for whatever reason; then every call fails at once. */
  get over(): boolean {
    return this.#end !== undefined;
  }

  /** Once, before all else. As {@link openSession}. */
  open(options: CallOptions): Promise<void> {
    return this.#attempt(options, async (attempt) => {
      try {
        await this.#lifeline.open(attempt.signal);
      } catch (error) {
        if (!(error instanceof ExchangeError) || error.failure.kind !== 'timeout') throw error;
        throw notConnected('unreachable', `no server agreed to a session within ${options.timeoutMs} ms`);
      }
    });
  }

  /** Rejects with an {@link ExchangeError}, or the signal's reason. */
  async request<Request, Answer>(operation: Operation<Request, Answer>, request: Request, options: AttemptOptions): Promise<Reply<Answer>> {
    checkCall(options);
    const body = encode(operation, request);
    return this.#attempt(options, async (attempt) => {
      let { connection } = this.#lifeline;
      while (connection === undefined || connection.over) connection = await attempt.wait(this.#lifeline.next);
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      const { code, zxid, body: answer } = await this.#answerOf(attempt, connection, operation.type, body);
      if (code !== Code.OK) throw answeredWith(code);
      try {
        return { zxid, answer: operation.decode(answer) };
      } catch (error) {
        const reason = new ExchangeError({ kind: 'malformed' }, `the answer cannot be understood: ${describeError(error)}`, error);
        connection.destroy(reason);
        throw reason;
      } finally {
        answer.free();
      }
    });
  }

  /** Has the path watched, on this connection and every one after it, until the answer is called. The node need not exist. */
  watch(path: string, mode: WatchMode, listener: WatchListener): () => void {
    if (this.#end === undefined) return this.#watches.add(path, mode, listener);
    const cause = this.#end.reason(false);
    queueMicrotask(() => listener.ended(cause));
    return () => {};
  }

  /**
   * Ends the session on the servers. One attempt: it rejects as `request` does, and then the session is what it was, and may be closed again, or
   * abandoned. Idempotent. A session that a server has declared expired is closed already; one that was given up or abandoned may live.
   */
  async close(options: AttemptOptions): Promise<void> {
    try {
      if (this.#end?.ended !== true) await this.request(closeSession, undefined, options);
    } catch (error) {
      if (this.#end?.ended !== true) throw error;
    }
  }

  /** Leaves the session to its timeout, at once. Idempotent. */
  abandon(): void {
    this.#finish({ ended: false, reason: closedSession }, { type: 'closed' });
  }

  /** A server that lets a call wait for all its time, in silence, is left: the next call has little time to lose. */
  async #answerOf(attempt: Attempt, connection: Connection, type: number, body: Uint8Array): Promise<RawReply> {
    const sentAtMs = this.#options.clock.monotonic();
    try {
      return await attempt.wait(this.#send(connection, type, body));
    } catch (error) {
      if (error instanceof ExchangeError && error.failure.kind === 'timeout') connection.leaveIfSilentSince(sentAtMs);
      throw error;
    }
  }

  #send(connection: Connection, type: number, body: Uint8Array): Promise<RawReply> {
    const reply = connection.send(type, body);
    if (type === closeSession.type) reply.then(({ code }) => this.#onFarewell(code)).catch(() => {});
    return reply;
  }

  // As soon as the answer is there: the server ends the connection too, and that is no loss then.
  #onFarewell(code: number): void {
    if (code === Code.OK || code === Code.SESSIONEXPIRED) this.#finish({ ended: true, reason: closedSession }, { type: 'closed' });
  }

  async #attempt<T>(options: AttemptOptions, task: (attempt: Attempt) => Promise<T>): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#end !== undefined) throw this.#end.reason(false);
    const attempt = new Attempt(this.#options.clock, options, callOver);
    this.#attempts.add(attempt);
    try {
      return await task(attempt);
    } finally {
      this.#attempts.delete(attempt);
      attempt.end();
    }
  }

  #onConnected(connection: Connection, reattached: boolean): void {
    this.#tell({ type: 'connected', endpoint: connection.endpoint, reattached });
    this.#stopProving = proveWatches(connection, { clock: this.#options.clock, isNeeded: () => !this.#watches.isEmpty });
    this.#watches.connected();
  }

  #onLost(cause: ExchangeError): void {
    this.#stopProving();
    this.#tell({ type: 'disconnected', cause });
    this.#watches.disconnected(cause);
  }

  #onOver(cause: ExchangeError): void {
    const { failure } = cause;
    const reason = (): ExchangeError => cause;
    if (failure.kind !== 'expired') this.#finish({ ended: false, reason }, { type: 'failed', cause });
    else if (this.#options.lasting === true) this.#tell({ type: 'expired', by: failure.by, cause });
    else this.#finish({ ended: failure.by === 'server', reason }, { type: 'expired', by: failure.by, cause });
  }

  #finish(end: End, event: SessionEvent): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#stopProving();
    for (const attempt of [...this.#attempts]) attempt.stop(end.reason(attempt.sent));
    this.#lifeline.stop(end.reason(true));
    this.#watches.end(end.reason(true));
    this.#tell(event);
  }

  #tell(event: SessionEvent): void {
    this.#options.onEvent?.(event);
  }
}

/**
 * Tries every server once, in random order, and resolves with the session that one of them opened. Rejects with an {@link ExchangeError}:
 * `notConnected` (nothing was left behind but, at worst, a session that nobody knows and that ends by its timeout), `expired` (there is no such
 * session as the one to take over, or not by this password); or with the signal's reason.
 */
export async function openSession(options: SessionOptions, call: CallOptions): Promise<Session> {
  checkCall(call);
  const session = new Session(options);
  await session.open(call);
  return session;
}

function encode<Request>(operation: Operation<Request, unknown>, request: Request): Uint8Array {
  const writer = new Writer();
  operation.encode(writer, request);
  const body = writer.finish();
  if (body.length + HEADER_BYTES <= MAX_REQUEST_BYTES) return body;
  throw new ExchangeError({ kind: 'tooLarge' }, `the request has ${body.length} bytes: servers take ${MAX_REQUEST_BYTES} at most`);
}
