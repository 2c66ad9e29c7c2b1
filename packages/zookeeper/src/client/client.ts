/** The sessions of one store: one that is shared by all that needs no session of its own, and one for each lease. */

import type { CallOptions } from '@incumbent/core';

import type { SessionIdentity } from '../connection/handshake.ts';
import { endSession } from './end-session.ts';
import { closedSession } from '../connection/failure.ts';
import { Session, type SessionEvent, type SessionOptions } from './session.ts';

/** As for a session; `timeoutMs` is what the shared one asks for. */
export type ClientOptions = Omit<SessionOptions, 'identity' | 'lasting' | 'onEvent'>;

export interface OwnSessionOptions {
  readonly timeoutMs: number;
  readonly identity?: SessionIdentity;
  readonly quiet?: boolean;
  readonly onEvent?: (event: SessionEvent) => void;
}

/** How long the shared session may take to be ended on the servers. It holds nothing but watches. */
const CLOSE_TIMEOUT_MS = 500;

export class Client {
  readonly #options: ClientOptions;
  readonly #sessions = new Set<Session>();
  /** For reads and watches, and for writes that belong to no lease. Another one takes its place when it expires. */
  readonly shared: Session;
  #closing: Promise<void> | undefined;

  /** For {@link openClient}. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.shared = new Session({ ...options, lasting: true });
  }

  /** Opens a session of one's own, or takes over one whose identity is known. Rejects as `openSession` does. */
  async openSession({ onEvent, ...own }: OwnSessionOptions, call: CallOptions): Promise<Session> {
    if (this.#closing !== undefined) throw closedSession(false);
    const session: Session = new Session({ ...this.#options, ...own, onEvent: (event) => this.#onEvent(session, event, onEvent) });
    this.#sessions.add(session);
    try {
      await session.open(call);
      return session;
    } catch (error) {
      this.#sessions.delete(session);
      throw error;
    }
  }

  /** Ends a session that is known by its identity, whoever has it. As {@link endSession}. */
  endSession(identity: SessionIdentity, call: CallOptions): Promise<void> {
    return endSession(this.#options, identity, call);
  }

  /** Abandons all sessions: those of leases live on until their timeouts. Waits a moment for the shared one to end. Idempotent, bounded. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const session of [...this.#sessions]) session.abandon();
    await this.shared.close({ timeoutMs: CLOSE_TIMEOUT_MS }).catch(() => {});
    this.shared.abandon();
  }

  #onEvent(session: Session, event: SessionEvent, onEvent: ((event: SessionEvent) => void) | undefined): void {
    if (session.over) this.#sessions.delete(session);
    onEvent?.(event);
  }
}

/** Opens the shared session, with it the client. Rejects as `openSession` does. */
export async function openClient(options: ClientOptions, call: CallOptions): Promise<Client> {
  const client = new Client(options);
  await client.shared.open(call);
  return client;
}
