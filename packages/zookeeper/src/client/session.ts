/** One ZooKeeper session, which outlives its connections. */

import type { TimedCall } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { type Attempt, type AttemptOptions, Calls, describeError, type Endpoint } from '@incumbent/network';

import type { Connection, RawReply } from '../connection/connection.ts';
import { answeredWith, closedSession, ExchangeError, notConnected } from '../errors.ts';
import { Code } from '../protocol/codes.ts';
import { HEADER_BYTES } from '../protocol/frame.ts';
import type { SessionIdentity } from '../protocol/hello.ts';
import { MAX_REQUEST_BYTES, Writer } from '../protocol/jute.ts';
import { closeSession } from '../protocol/nodes.ts';
import type { Operation, Reply } from '../protocol/operation.ts';
import type { WatchMode } from '../protocol/watches.ts';
import { SessionConnector, type SessionConnectorOptions } from './session-connector.ts';
import { WatchHub, type WatchListener } from './watch-hub.ts';
import { proveWatches } from './watch-proof.ts';

/**
 * `connectTimeoutMs` and `handshakeTimeoutMs` bound the time of one server. After a lost connection
 * each is at most a third of the session's timeout, so that a silent server leaves time for others.
 */
export interface SessionOptions extends SessionConnectorOptions {
  /** Called after each event, in order. Must not throw. */
  readonly onEvent?: (event: SessionEvent) => void;
}

export type SessionEvent =
  /** `reattached`: the session is the one before the loss, and its ephemeral nodes still exist. */
  | { readonly type: 'connected'; readonly endpoint: Endpoint; readonly reattached: boolean }
  /** The connection is lost. The session lives on, and looks for another server. */
  | { readonly type: 'disconnected'; readonly cause: ExchangeError }
  /**
   * `server`: a server said that the session is gone. `clock`: no server was reached for the
   * session's timeout, and the session may be gone. The last event, unless the session is
   * `lasting`.
   */
  | { readonly type: 'expired'; readonly by: 'server' | 'clock'; readonly cause: ExchangeError }
  /** The servers no longer accept the client's identities. The last event. */
  | { readonly type: 'failed'; readonly cause: ExchangeError }
  /** This client closed or abandoned the session. The last event. */
  | { readonly type: 'closed' };

export interface RequestOptions extends AttemptOptions {
  /** Called right before the request is sent. Not called for a request that is never sent. */
  readonly onSent?: () => void;
}

/** Why a session is over. `ended`: the servers no longer have the session. */
interface End {
  readonly ended: boolean;
  readonly reason: (sent: boolean) => ExchangeError;
}

/** How long the server keeps a watch after its last listener has left. */
const UNWATCH_AFTER_MS = 1_000;

/** How long a server may take to set a watch. */
const WATCH_TIMEOUT_MS = 5_000;

/**
 * **Calls.** `request` makes one attempt. It resolves with an answer whose code is OK. It rejects
 * with the signal's reason if the signal aborts, and otherwise with an {@link ExchangeError}, whose
 * outcome `errors.ts` decides. While there is no connection, a call waits for one within its own
 * time. Nothing is sent twice. A call keeps the process alive until it settles, unless it is a
 * `background` call; nothing else here does.
 *
 * **Reconnection.** When a connection is lost, or was silent for the whole time of a call, the
 * session moves to another server. It can do so within `timeoutMs` of the sending of the last
 * request that was answered. Calls under way reject as `cut`. The session has expired when that
 * time is over, or when a server says so.
 *
 * **The end.** `close` ends the session on the servers: when it resolves, the session's ephemeral
 * nodes are gone. `abandon` leaves the session to its timeout. Both free the socket and all timers,
 * and calls under way reject as `closed`.
 */
export class ZooKeeperSession {
  readonly #options: SessionOptions;
  readonly #connector: SessionConnector;
  readonly #watches: WatchHub;
  readonly #calls: Calls;
  #stopProving = (): void => {};
  #end: End | undefined;

  /** Use {@link openSession}, unless you need the session before it is open. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#calls = new Calls(options.clock, ExchangeError);
    this.#watches = new WatchHub({
      ask: (operation, request) => this.request(operation, request, { timeoutMs: WATCH_TIMEOUT_MS, background: true }),
      reset: (cause) => this.#connector.connection?.destroy(cause),
      later: (task) => options.clock.schedule(UNWATCH_AFTER_MS, task),
    });
    this.#connector = new SessionConnector(options, {
      onConnected: (connection, reattached) => this.#onConnected(connection, reattached),
      onLost: (cause) => this.#onLost(cause),
      onOver: (cause) => this.#onOver(cause),
      onEvent: (event) => this.#watches.onEvent(event),
    });
  }

  /**
   * The id and password of the session, with which anybody can end it. Of a lasting session, those
   * of the present one. Undefined before the session is open, and between two lasting ones.
   */
  get identity(): SessionIdentity | undefined {
    return this.#connector.identity;
  }

  /** How long the servers keep the session without a sign of life, in ms, as they granted it. */
  get timeoutMs(): number {
    return this.#connector.timeoutMs;
  }

  /**
   * The last transaction that the servers have reported to the session; 0 for none. Of a lasting
   * session, to the present one.
   */
  get lastZxid(): bigint {
    return this.#connector.lastZxid;
  }

  /** The connected server; undefined while there is none. */
  get endpoint(): Endpoint | undefined {
    return this.#connector.connection?.endpoint;
  }

  /** True once the session is over. Every later call fails at once. */
  get over(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Opens the session. Call it once, before any other method. Rejects as {@link openSession} does.
   */
  open(options: TimedCall): Promise<void> {
    return this.#calls.run(options, async (attempt) => {
      try {
        await this.#connector.open(attempt.signal);
      } catch (error) {
        if (!(error instanceof ExchangeError) || error.failure.kind !== 'timeout') throw error;
        throw notConnected('unreachable', `no server agreed to a session within ${Math.ceil(options.timeoutMs)} ms`);
      }
    });
  }

  /** Sends one request. Rejects with an {@link ExchangeError}, or with the signal's reason. */
  async request<Request, Answer>(operation: Operation<Request, Answer>, request: Request, options: RequestOptions): Promise<Reply<Answer>> {
    checkCall(options);
    const body = encode(operation, request);
    return this.#calls.run(options, async (attempt) => {
      let { connection } = this.#connector;
      while (connection === undefined || connection.over) connection = await attempt.wait(this.#connector.next);
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      options.onSent?.();
      const { code, zxid, body: answer } = await this.#replyTo(attempt, connection, operation.type, body);
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

  /**
   * Watches the path, on this connection and on every later one, until `unwatch`. The node need not
   * exist.
   */
  watch(path: string, mode: WatchMode, listener: WatchListener): void {
    if (this.#end === undefined) return this.#watches.add(path, mode, listener);
    const cause = this.#end.reason(false);
    queueMicrotask(() => listener.ended(cause));
  }

  /** Calls the listener no more for changes of the path. */
  unwatch(path: string, listener: WatchListener): void {
    this.#watches.remove(path, listener);
  }

  /**
   * Ends the session on the servers. Makes one attempt. If it rejects, as `request` does, the
   * session is as it was before, and can be closed again or abandoned. Idempotent. A session that a
   * server has declared expired is closed already; one that was given up or abandoned may be alive.
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

  /**
   * Waits for the reply. If a server was silent for the whole time of the call, leaves the server,
   * because the next call has little time left.
   */
  async #replyTo(attempt: Attempt, connection: Connection, type: number, body: Uint8Array): Promise<RawReply> {
    const sentAtMs = this.#options.clock.monotonic();
    const reply = this.#send(connection, type, body);
    try {
      return await attempt.wait(reply);
    } catch (error) {
      // Nobody reads the reply any more. A long one is freed when it arrives.
      reply.then(
        (late) => late.body.free(),
        () => {},
      );
      if (error instanceof ExchangeError && error.failure.kind === 'timeout') connection.leaveIfSilentSince(sentAtMs);
      throw error;
    }
  }

  #send(connection: Connection, type: number, body: Uint8Array): Promise<RawReply> {
    const reply = connection.send(type, body);
    if (type === closeSession.type) reply.then(({ code }) => this.#onClosed(code)).catch(() => {});
    return reply;
  }

  // Runs as soon as the answer arrives. The server then closes the connection, which is no loss.
  #onClosed(code: number): void {
    if (code === Code.OK || code === Code.SESSIONEXPIRED) this.#finish({ ended: true, reason: closedSession }, { type: 'closed' });
  }

  #onConnected(connection: Connection, reattached: boolean): void {
    this.#report({ type: 'connected', endpoint: connection.endpoint, reattached });
    this.#stopProving = proveWatches(connection, { clock: this.#options.clock, isNeeded: () => !this.#watches.isEmpty });
    this.#watches.connected();
  }

  #onLost(cause: ExchangeError): void {
    this.#stopProving();
    this.#report({ type: 'disconnected', cause });
    this.#watches.disconnected(cause);
  }

  #onOver(cause: ExchangeError): void {
    const { failure } = cause;
    const reason = (): ExchangeError => cause;
    if (failure.kind !== 'expired') this.#finish({ ended: false, reason }, { type: 'failed', cause });
    else if (this.#options.lasting === true) this.#report({ type: 'expired', by: failure.by, cause });
    else this.#finish({ ended: failure.by === 'server', reason }, { type: 'expired', by: failure.by, cause });
  }

  #finish(end: End, event: SessionEvent): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#stopProving();
    this.#calls.end(end.reason);
    this.#connector.stop(end.reason(true));
    this.#watches.end(end.reason(true));
    this.#report(event);
  }

  #report(event: SessionEvent): void {
    this.#options.onEvent?.(event);
  }
}

/**
 * Opens a session. Tries every server once, in a random order. Rejects with the signal's reason, or
 * with an {@link ExchangeError}: `notConnected`, after which at worst a session without an owner is
 * left to its timeout; or `expired`, if the session to take over does not exist or has another
 * password.
 */
export async function openSession(options: SessionOptions, call: TimedCall): Promise<ZooKeeperSession> {
  checkCall(call);
  const session = new ZooKeeperSession(options);
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
