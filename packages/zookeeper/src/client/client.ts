/** The sessions of one store: a shared one, and one for each lease. */

import type { TimedCall } from '@incumbent/core';

import { closedSession } from '../errors.ts';
import type { SessionIdentity } from '../protocol/hello.ts';
import { endSession } from './end-session.ts';
import { ZooKeeperSession, type SessionEvent, type SessionOptions } from './session.ts';

/** The options of all sessions. `timeoutMs` is what the shared session asks for. */
export type ClientOptions = Omit<SessionOptions, 'identity' | 'lasting' | 'onEvent'>;

export interface OwnSessionOptions {
  readonly timeoutMs: number;
  readonly identity?: SessionIdentity;
  readonly quiet?: boolean;
  readonly onEvent?: (event: SessionEvent) => void;
}

/** A session that is over for its owner, and may be alive on the servers. */
export interface EndedSession {
  readonly identity: SessionIdentity;
  /** The last transaction that the session has seen; 0 for none. */
  readonly lastZxid: bigint;
}

/** How long the servers may take to end a session that has no ephemeral nodes. */
export const CLOSE_TIMEOUT_MS = 500;

export class Client {
  readonly #options: ClientOptions;
  readonly #sessions = new Set<ZooKeeperSession>();
  /**
   * For reads, watches and writes that belong to no lease. A new session replaces it when it
   * expires.
   */
  readonly shared: ZooKeeperSession;
  /** Aborts with the close, and ends the calls that end sessions of others. */
  readonly #stopped = new AbortController();
  #closing: Promise<void> | undefined;

  /** Use {@link openClient}, which also opens the shared session. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.shared = new ZooKeeperSession({ ...options, lasting: true });
  }

  /**
   * Opens a separate session, or takes over the one with this identity. Rejects as `openSession`
   * does.
   */
  async openSession({ onEvent, ...own }: OwnSessionOptions, call: TimedCall): Promise<ZooKeeperSession> {
    if (this.#closing !== undefined) throw closedSession(false);
    const session: ZooKeeperSession = new ZooKeeperSession({
      ...this.#options,
      ...own,
      onEvent: (event) => this.#onEvent(session, event, onEvent),
    });
    this.#sessions.add(session);
    try {
      await session.open(call);
      return session;
    } catch (error) {
      this.#sessions.delete(session);
      throw error;
    }
  }

  /**
   * Ends the session with this identity, whoever owns it. See {@link endSession}. No server that is
   * behind what the session, or another session of this client, has seen can report that it is
   * gone.
   */
  async endSession({ identity, lastZxid }: EndedSession, call: TimedCall): Promise<void> {
    if (this.#closing !== undefined) throw closedSession(false);
    const stopped = this.#stopped.signal;
    const signal = call.signal === undefined ? stopped : AbortSignal.any([call.signal, stopped]);
    const seen = [this.shared, ...this.#sessions].map((session) => session.lastZxid);
    const latest = seen.reduce((a, b) => (a > b ? a : b), lastZxid);
    await endSession({ ...this.#options, lastZxid: latest }, identity, { ...call, signal });
  }

  /**
   * Ends the shared session and waits for it, {@link CLOSE_TIMEOUT_MS} at most. Abandons the
   * sessions of leases, which live until their timeouts. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopped.abort(closedSession(true));
    for (const session of [...this.#sessions]) session.abandon();
    await this.shared.close({ timeoutMs: CLOSE_TIMEOUT_MS }).catch(() => {});
    this.shared.abandon();
  }

  #onEvent(session: ZooKeeperSession, event: SessionEvent, onEvent: ((event: SessionEvent) => void) | undefined): void {
    if (session.over) this.#sessions.delete(session);
    onEvent?.(event);
  }
}

/** Creates a client and opens its shared session. Rejects as `openSession` does. */
export async function openClient(options: ClientOptions, call: TimedCall): Promise<Client> {
  const client = new Client(options);
  await client.shared.open(call);
  return client;
}
