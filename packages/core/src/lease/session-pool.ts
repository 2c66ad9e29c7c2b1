/**
 * A member's sessions: one for all elections and groups, and further ones if the member would bind
 * more than `capabilities.maxKeysPerLease` keys to one lease. The first session holds the member's
 * id. When it ends, the others end too.
 */

import { type OnDuplicate, type Origin, openFirstSession } from './member-key.ts';
import { SessionKeeper, type SessionKeeperContext } from './session-keeper.ts';
import { openSession, type LeaseSession, type SessionContext } from './session.ts';

/** What a session pool needs. */
export interface SessionPoolContext extends SessionContext, Pick<SessionKeeperContext, 'memberId' | 'drained'> {
  readonly incarnation: string;
  readonly origin: Origin;
  readonly onDuplicate: OnDuplicate;
}

/** Resolves with the session of an election or a group, and opens one if none is live. */
export type GetSession = (signal: AbortSignal) => Promise<LeaseSession>;

/** The sessions on one lease after another, and the number of keys reserved on that lease. */
interface Slot {
  readonly sessions: SessionKeeper;
  keys: number;
}

/** All sessions of one member. */
export class SessionPool {
  readonly #context: SessionPoolContext;
  readonly #first: SessionKeeper;
  readonly #slots: Slot[];

  constructor(context: SessionPoolContext) {
    this.#context = context;
    this.#first = new SessionKeeper({
      ...context,
      // If another process has taken the id from this one, do not take it back: wait until that
      // process has gone.
      open: (opening, before) => {
        const onDuplicate = before !== undefined && context.onDuplicate === 'replace' ? 'wait' : context.onDuplicate;
        return openFirstSession({ ...context, ...opening, onDuplicate });
      },
    });
    this.#slots = [{ sessions: this.#first, keys: 1 }];
  }

  /**
   * Returns the function by which an election or a group gets its session. `keys` is the number of
   * keys that it binds to the lease. Its first call decides which lease it uses from then on.
   */
  reserve(keys: number): GetSession {
    let slot: Slot | undefined;
    return (signal) => {
      slot ??= this.#slotFor(keys);
      return slot.sessions.get(signal);
    };
  }

  /** `idle`: no live session. `suspect`: a renewal of at least one session is overdue. */
  get state(): 'idle' | 'live' | 'suspect' {
    if (this.#first.current?.isValid() !== true) return 'idle';
    return this.#slots.some(({ sessions }) => sessions.current?.suspect === true) ? 'suspect' : 'live';
  }

  /** Ends all sessions. Takes at most `drainMs` and `callTimeoutMs`. */
  async close(): Promise<void> {
    await Promise.all(this.#slots.map(({ sessions }) => sessions.close()));
  }

  /** Aborts every call that still runs. Leases that were not revoked expire. */
  abandon(): void {
    for (const { sessions } of this.#slots) sessions.abandon();
  }

  #slotFor(keys: number): Slot {
    const { maxKeysPerLease } = this.#context.store.capabilities;
    const slot = this.#slots.find((one) => one.keys + keys <= maxKeysPerLease) ?? this.#another();
    slot.keys += keys;
    return slot;
  }

  #another(): Slot {
    const sessions = new SessionKeeper({
      ...this.#context,
      open: async (opening) => {
        const first = await this.#first.get(opening.signal);
        return openSession(opening, (session) => endTogether(first, session));
      },
    });
    const slot = { sessions, keys: 0 };
    this.#slots.push(slot);
    return slot;
  }
}

/**
 * Ends the session when the first one ends. If the member closes, the pool closes each session by
 * itself.
 */
function endTogether(first: LeaseSession, session: LeaseSession): void {
  const stop = first.onEnd(({ reason }) => {
    if (reason !== 'memberClosed') session.end(reason);
  });
  session.onEnd(stop);
}
