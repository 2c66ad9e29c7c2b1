/**
 * Calls to etcd: each is one attempt, on one member, bounded in time. What it needs before it can be sent (a connection, a token) it gets
 * first; once it is sent it is never sent again, with one exception: a server that turns it away for its token has done nothing, and then
 * it goes out once more with a new token, within the same time.
 */

import type { OutgoingHttpHeaders } from 'node:http2';

import { checkCall, systemClock, systemRandom, withoutSecret } from '@incumbent/core/adapter';

import { Attempt, type AttemptOptions, type Endpoint, free, SharedAllowance } from '@incumbent/network';

import { Endpoints } from './endpoints.ts';
import { blamesMember, blamesToken, isAuthDisabled, storeClosed, toStoreError } from '../errors.ts';
import { callOver, ExchangeError } from './exchange-error.ts';
import type { Session, SessionOptions } from './http2-connection.ts';
import { exchange, GrpcStream, type StreamHandlers } from './stream.ts';
import { TokenSource } from './token.ts';
import { authenticate, type Credentials } from '../protocol/admin.ts';
import { range } from '../protocol/kv.ts';
import type { Rpc } from '../protocol/rpc.ts';

const LOGIN_TIMEOUT_MS = 5_000;
/** A call that ends unanswered after this many ms says something of the server; a shorter one, of its caller. */
const SILENT_MS = 400;

export interface ClientOptions extends Omit<SessionOptions, 'answers'> {
  readonly endpoints: readonly Endpoint[];
  /** The index of the member to begin with. */
  readonly first: number;
  readonly credentials: Credentials | undefined;
}

/** Which begins with any of the members. Connects when it first has to. */
export function clientOf(options: Omit<ClientOptions, 'first'>): Client {
  return new Client({ ...options, first: Math.floor((systemRandom.u32() / 2 ** 32) * options.endpoints.length) });
}

/** A stream of messages both ways, open until either side ends it. */
export interface OpenStream {
  readonly stream: GrpcStream;
  readonly session: Session;
  readonly token: string | undefined;
}

export class Client {
  readonly #endpoints: Endpoints;
  readonly #credentials: Credentials | undefined;
  readonly #tokens: TokenSource;
  readonly #attempts = new Set<Attempt>();
  #closing: Promise<void> | undefined;
  /** The revision that a linearizable call has last shown. */
  revision = 0n;

  constructor(options: ClientOptions) {
    this.#endpoints = new Endpoints(options.endpoints, { ...options, answers: new SharedAllowance() }, options.first);
    this.#credentials = options.credentials;
    this.#tokens = new TokenSource(() => this.#login());
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Rejects with a `StoreError`, or with the signal's reason if that aborts. */
  async call<Request, Answer>(rpc: Rpc<Request, Answer>, request: Request, options: AttemptOptions): Promise<Answer> {
    checkCall(options);
    const message = rpc.encode(request);
    return this.#attempt(rpc.name, options, async (attempt) => {
      const token = await attempt.wait(this.#tokens.token());
      try {
        return await this.#exchange(rpc, message, token, attempt);
      } catch (error) {
        if (this.#credentials === undefined || !blamesToken(error)) throw error;
      }
      attempt.sent = false;
      this.#tokens.forget(token);
      return this.#exchange(rpc, message, await attempt.wait(this.#tokens.token()), attempt);
    });
  }

  /** Opens a stream. Rejects as `call` does. */
  openStream(name: string, path: string, handlers: StreamHandlers, options: AttemptOptions): Promise<OpenStream> {
    return this.#attempt(name, options, async (attempt) => {
      const token = await attempt.wait(this.#tokens.token());
      let session = await attempt.wait(this.#endpoints.session());
      if (!session.usable) session = await attempt.wait(this.#endpoints.session());
      return { stream: new GrpcStream(session, path, headersWith(token), handlers), session, token };
    });
  }

  /**
   * Resolves when the member of this stream has served a linearizable read, with its answer or a
   * refusal: it has then applied all that the cluster had agreed on. A member whose disk hangs
   * serves none, while it answers pings and has leases renewed. Rejects where the member did not.
   */
  async proveMember({ session, token }: OpenStream, signal: AbortSignal): Promise<void> {
    try {
      await exchange(session, range.path, headersWith(token), range.encode({ key: 'any', limit: 1 }), signal);
    } catch (error) {
      if (signal.aborted || blamesMember(error)) throw error;
    }
  }

  /** This member did not serve: the next requests go to another. */
  leave(session: Session): void {
    this.#endpoints.leave(session, { forGood: true });
  }

  /** The server turned this token away. */
  forgetToken(token: string | undefined): void {
    this.#tokens.forget(token);
  }

  /** Fails the calls under way and frees the connections. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const attempt of this.#attempts) attempt.close();
    await this.#endpoints.close();
  }

  async #attempt<T>(what: string, options: AttemptOptions, task: (attempt: Attempt) => Promise<T>): Promise<T> {
    if (this.closed) throw storeClosed('notSent');
    options.signal?.throwIfAborted();
    const attempt = new Attempt(systemClock, options, callOver);
    this.#attempts.add(attempt);
    try {
      return await task(attempt);
    } catch (error) {
      throw options.signal?.aborted === true && error === options.signal.reason ? error : toStoreError(error, what, attempt.sent);
    } finally {
      this.#attempts.delete(attempt);
      attempt.end();
    }
  }

  async #exchange<Request, Answer>(
    rpc: Rpc<Request, Answer>,
    message: Uint8Array,
    token: string | undefined,
    attempt: Attempt,
  ): Promise<Answer> {
    let session = await attempt.wait(this.#endpoints.session());
    // It may end, or be used up by others, in the moment in which it is handed out.
    if (!session.usable) session = await attempt.wait(this.#endpoints.session());
    const sentAtMs = performance.now();
    try {
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      const answer = decode(rpc, await exchange(session, rpc.path, headersWith(token), message, attempt.signal));
      this.revision = rpc.revisionOf?.(answer) ?? this.revision;
      return answer;
    } catch (error) {
      this.#hearOf(error, session, performance.now() - sentAtMs);
      throw error;
    }
  }

  #hearOf(error: unknown, session: Session, tookMs: number): void {
    const isTimeout = error instanceof ExchangeError && error.failure.kind === 'timeout';
    if (blamesMember(error)) this.#endpoints.leave(session, { forGood: !isTimeout || tookMs >= SILENT_MS });
    // Nobody knows whether the server is slow or the connection dead: a ping tells.
    if (isTimeout) session.probe();
  }

  async #login(): Promise<string | undefined> {
    const credentials = this.#credentials;
    if (credentials === undefined) return undefined;
    return this.#attempt(authenticate.name, { timeoutMs: LOGIN_TIMEOUT_MS, background: true }, async (attempt) => {
      try {
        return await this.#exchange(authenticate, authenticate.encode(credentials), undefined, attempt);
      } catch (error) {
        if (isAuthDisabled(error)) return undefined;
        throw withoutPassword(error, credentials);
      }
    });
  }
}

/** Without the password, should the answer to a login repeat it. */
function withoutPassword(error: unknown, { password }: Credentials): unknown {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'status') return error;
  const { failure, message } = error;
  const reason = withoutSecret(failure.reason, password);
  return new ExchangeError({ ...failure, reason }, withoutSecret(message, password));
}

// A member that has lost the cluster's leader says so at once, or ends the stream, in place of letting everybody wait.
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
    // What was read from it are copies.
    free(message);
  }
}
