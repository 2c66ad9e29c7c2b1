/** Calls to the cluster. */

import type { OutgoingHttpHeaders } from 'node:http2';

import type { Cancel } from '@incumbent/core';
import { checkCall, fraction, systemClock, systemRandom, withoutSecret } from '@incumbent/core/adapter';
import { type Attempt, type AttemptOptions, Calls, type Endpoint, free, SharedAllowance, type UserCredentials } from '@incumbent/network';

import { blamesMember, blamesToken, failureOf, isAuthDisabled, isDenied, toStoreError } from '../errors.ts';
import { authenticate } from '../protocol/admin.ts';
import { range } from '../protocol/kv.ts';
import { MAX_MESSAGE_BYTES, type Rpc } from '../protocol/rpc.ts';
import { Endpoints } from './endpoints.ts';
import { ExchangeError } from './failure.ts';
import type { ConnectionOptions, Http2Connection } from './http2-connection.ts';
import { exchange, GrpcStream, type StreamHandlers } from './stream.ts';
import { TokenSource } from './token.ts';

const LOGIN_TIMEOUT_MS = 5_000;

/** Only a call that was unanswered for this many ms, or longer, shows that the server is silent. */
const SILENT_MS = 400;

/**
 * How long a member may take to answer a request that others can answer as well, in ms. The third
 * member may take all of the time that is left, because a busy cluster may be slower than this.
 */
const MEMBER_TIMEOUT_MS = 1_000;
const IMPATIENT_TRIES = 2;

export interface ClientOptions extends Omit<ConnectionOptions, 'answers'> {
  readonly endpoints: readonly Endpoint[];
  /** The index of the member to begin with. */
  readonly first: number;
  readonly credentials: UserCredentials | undefined;
}

/** A client that begins with a random member, and connects when it is first used. */
export function clientOf(options: Omit<ClientOptions, 'first'>): Client {
  return new Client({ ...options, first: Math.floor(fraction(systemRandom) * options.endpoints.length) });
}

/** A stream of messages in both directions, with the connection and the token that it uses. */
export interface OpenStream {
  readonly stream: GrpcStream;
  readonly connection: Http2Connection;
  readonly token: string | undefined;
}

/**
 * Each call is one attempt on one member, with a time limit that includes connecting and logging
 * in. A request is never sent twice, with three exceptions. A server that rejects the token has not
 * processed the request, so it is sent once more with a new token, within the same time limit. And
 * a request that changes nothing in the store (`repeatable`) goes to one member after another until
 * one answers. And above this class, `Batcher` makes a call for each request of a transaction that
 * had no effect.
 */
export class Client {
  readonly #endpoints: Endpoints;
  readonly #credentials: UserCredentials | undefined;
  readonly #tokens: TokenSource;
  readonly #calls = new Calls(systemClock, ExchangeError);
  #closing: Promise<void> | undefined;
  /** The revision in the last answer to a linearizable call. */
  revision = 0n;

  constructor(options: ClientOptions) {
    this.#endpoints = new Endpoints(options.endpoints, { ...options, answers: new SharedAllowance(MAX_MESSAGE_BYTES) }, options.first);
    this.#credentials = options.credentials;
    this.#tokens = new TokenSource(() => this.#login());
  }

  get closed(): boolean {
    return this.#calls.closed;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  async call<Request, Answer>(rpc: Rpc<Request, Answer>, request: Request, options: AttemptOptions): Promise<Answer> {
    checkCall(options);
    const message = rpc.encode(request);
    return this.#run(rpc.name, options, async (attempt) => {
      const token = await attempt.wait(this.#tokens.token());
      try {
        return await this.#ask(rpc, message, token, attempt);
      } catch (error) {
        if (this.#credentials === undefined || !blamesToken(error)) throw error;
      }
      attempt.sent = false;
      this.#tokens.forget(token);
      return this.#ask(rpc, message, await attempt.wait(this.#tokens.token()), attempt);
    });
  }

  /** Opens a stream. Rejects as `call` does. */
  openStream(name: string, path: string, handlers: StreamHandlers, options: AttemptOptions): Promise<OpenStream> {
    return this.#run(name, options, async (attempt) => {
      const token = await attempt.wait(this.#tokens.token());
      return this.#withConnection(attempt, (connection) => ({
        stream: new GrpcStream(connection, path, headersWith(token), handlers),
        connection,
        token,
      }));
    });
  }

  /**
   * Resolves with the revision of a linearizable read that the member of this stream has served. It
   * has then applied everything that the cluster had agreed on. A member whose disk hangs serves no
   * such read, although it answers pings and renews leases. If etcd denies the read, which it does
   * after the member has caught up, resolves with the last revision that a call has shown. Rejects
   * after every other failure.
   */
  async proveMember({ connection }: OpenStream, key: string, signal: AbortSignal): Promise<bigint> {
    // The stream may have begun with a token that has expired since.
    const token = await this.#tokens.token();
    signal.throwIfAborted();
    try {
      const request = range.encode({ key, limit: 1, keysOnly: true });
      return decode(range, await exchange(connection, range, headersWith(token), request, signal)).revision;
    } catch (error) {
      if (signal.aborted || !isDenied(error)) throw error;
      if (blamesToken(error)) this.#tokens.forget(token);
      return this.revision;
    }
  }

  /** Sends the next requests to another member, because this one did not serve. */
  leave(connection: Http2Connection): void {
    this.#endpoints.leave(connection, { forGood: true });
  }

  /** Forgets a token that a server rejected: the next request fetches a new one. */
  forgetToken(token: string | undefined): void {
    this.#tokens.forget(token);
  }

  /** Ends the calls in flight and closes the connections. Idempotent. */
  close(): Promise<void> {
    this.#calls.close();
    this.#closing ??= this.#endpoints.close();
    return this.#closing;
  }

  async #run<T>(what: string, options: AttemptOptions, task: (attempt: Attempt) => Promise<T>): Promise<T> {
    let isSent = (): boolean => false;
    try {
      return await this.#calls.run(options, (attempt) => {
        isSent = () => attempt.sent;
        return task(attempt);
      });
    } catch (error) {
      if (options.signal?.aborted === true && error === options.signal.reason) throw error;
      throw toStoreError(error, what, isSent());
    }
  }

  /** Each failure makes the client go to another member, so no member is asked twice. */
  async #ask<Request, Answer>(
    rpc: Rpc<Request, Answer>,
    message: Uint8Array,
    token: string | undefined,
    attempt: Attempt,
  ): Promise<Answer> {
    const members = rpc.repeatable === true ? this.#endpoints.count : 1;
    const failures: unknown[] = [];
    while (failures.length < members) {
      const isImpatient = failures.length < Math.min(members - 1, IMPATIENT_TRIES);
      try {
        return await this.#exchange(rpc, message, token, attempt, isImpatient ? MEMBER_TIMEOUT_MS : undefined);
      } catch (error) {
        if (attempt.signal.aborted || !blamesMember(error)) throw error;
        failures.push(error);
      }
    }
    throw failureOf(failures);
  }

  /** `timeoutMs`: how long the member may take. By default, until the attempt ends. */
  #exchange<Request, Answer>(
    rpc: Rpc<Request, Answer>,
    message: Uint8Array,
    token: string | undefined,
    attempt: Attempt,
    timeoutMs?: number,
  ): Promise<Answer> {
    return this.#withConnection(attempt, async (connection) => {
      const sentAtMs = performance.now();
      const limit = limitOf(attempt.signal, timeoutMs);
      try {
        attempt.signal.throwIfAborted();
        attempt.sent = true;
        const answer = decode(rpc, await exchange(connection, rpc, headersWith(token), message, limit.signal));
        this.revision = rpc.revisionOf?.(answer) ?? this.revision;
        return answer;
      } catch (error) {
        this.#onFailure(error, connection, performance.now() - sentAtMs);
        throw error;
      } finally {
        limit.cancel();
      }
    });
  }

  /**
   * The connection may close, or other calls may use it up, before this call gets it. So `use` must
   * send its request at once: when `use` is called, the connection accepts one.
   */
  async #withConnection<T>(attempt: Attempt, use: (connection: Http2Connection) => T | Promise<T>): Promise<T> {
    let connection = await attempt.wait(this.#endpoints.connection());
    if (!connection.usable) connection = await attempt.wait(this.#endpoints.connection());
    return use(connection);
  }

  #onFailure(error: unknown, connection: Http2Connection, tookMs: number): void {
    const isTimeout = error instanceof ExchangeError && error.failure.kind === 'timeout';
    if (blamesMember(error)) this.#endpoints.leave(connection, { forGood: !isTimeout || tookMs >= SILENT_MS });
    // Either the server is slow or the connection is dead. A ping decides.
    if (isTimeout) connection.probe();
  }

  async #login(): Promise<string | undefined> {
    const credentials = this.#credentials;
    if (credentials === undefined) return undefined;
    return this.#run(authenticate.name, { timeoutMs: LOGIN_TIMEOUT_MS, background: true }, async (attempt) => {
      try {
        return await this.#ask(authenticate, authenticate.encode(credentials), undefined, attempt);
      } catch (error) {
        if (isAuthDisabled(error)) return undefined;
        throw withoutPassword(error, credentials);
      }
    });
  }
}

interface TimeLimit {
  readonly signal: AbortSignal;
  readonly cancel: Cancel;
}

/** Aborts when `signal` does, and after `timeoutMs` if given. */
function limitOf(signal: AbortSignal, timeoutMs: number | undefined): TimeLimit {
  if (timeoutMs === undefined) return { signal, cancel: () => {} };
  const late = new AbortController();
  const reason = new ExchangeError({ kind: 'timeout', sent: true }, `no answer within ${timeoutMs} ms`);
  const cancel = systemClock.schedule(timeoutMs, () => late.abort(reason));
  return { signal: AbortSignal.any([signal, late.signal]), cancel };
}

/** The answer to a login may repeat the password. */
function withoutPassword(error: unknown, { password }: UserCredentials): unknown {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'status') return error;
  const { failure, message } = error;
  const reason = withoutSecret(failure.reason, password);
  return new ExchangeError({ ...failure, reason }, withoutSecret(message, password));
}

/**
 * With `hasleader`, a member that has lost the cluster's leader refuses at once, and ends its
 * streams, instead of letting the caller wait.
 */
const REQUIRE_LEADER = { hasleader: 'true' } as const;

function headersWith(token: string | undefined): OutgoingHttpHeaders {
  return token === undefined ? REQUIRE_LEADER : { ...REQUIRE_LEADER, token };
}

function decode<Request, Answer>(rpc: Rpc<Request, Answer>, message: Uint8Array): Answer {
  try {
    return rpc.decode(message);
  } catch (error) {
    throw new ExchangeError({ kind: 'malformed' }, 'the answer cannot be understood', error);
  } finally {
    // The decoder copies what it returns.
    free(message);
  }
}
