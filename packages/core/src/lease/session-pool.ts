/**
 * A member's sessions: one for all of its elections and groups; and more where the store wants no
 * more keys bound to one lease (`capabilities.maxKeysPerLease`). The first holds the member's id.
 * The others live by it: whoever loses the id stops everywhere.
 */

import { type OnDuplicate, register } from './member-key.ts';
import { SessionKeeper, type SessionKeeperContext } from './session-keeper.ts';
import { openSession, type LeaseSession, type SessionContext } from './session.ts';

export interface SessionPoolContext extends SessionContext, Pick<SessionKeeperContext, 'memberId' | 'drained'> {
  readonly incarnation: string;
  readonly onDuplicate: OnDuplicate;
}

/** Sessions that follow each other, and how many keys their leases have been promised for. */
interface Slot {
  readonly sessions: SessionKeeper;
  keys: number;
}

export class SessionPool {
  readonly #context: SessionPoolContext;
  readonly #first: SessionKeeper;
  readonly #slots: Slot[];

  constructor(context: SessionPoolContext) {
    this.#context = context;
    this.#first = new SessionKeeper({
      ...context,
      // An id that it has held, and that another process holds now, was taken from it: it is not
      // taken back, unless that process goes.
      open: (opening, before) => {
        const onDuplicate = before !== undefined && context.onDuplicate === 'replace' ? 'wait' : context.onDuplicate;
        return register({ ...context, ...opening, onDuplicate });
      },
    });
    this.#slots = [{ sessions: this.#first, keys: 1 }];
  }

  /**
   * For a part of the member that binds so many keys to its lease: how it comes by a session. Its
   * place is chosen at its first call, and kept.
   */
  reserve(keys: number): (signal: AbortSignal) => Promise<LeaseSession> {
    let slot: Slot | undefined;
    return (signal) => {
      slot ??= this.#slotFor(keys);
      return slot.sessions.get(signal);
    };
  }

  get state(): 'idle' | 'live' | 'suspect' {
    if (this.#first.current?.isValid() !== true) return 'idle';
    return this.#slots.some(({ sessions }) => sessions.current?.suspect === true) ? 'suspect' : 'live';
  }

  /** Ends all sessions; bounded by the drains and one call's time. */
  async close(): Promise<void> {
    await Promise.all(this.#slots.map(({ sessions }) => sessions.close()));
  }

  /** No call goes on from here: what has not been revoked expires. */
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
        return openSession(opening, (session) => liveBy(first, session));
      },
    });
    const slot = { sessions, keys: 0 };
    this.#slots.push(slot);
    return slot;
  }
}

/** Where the member closes, each is closed for itself, in order. */
function liveBy(first: LeaseSession, session: LeaseSession): void {
  session.onEnd(
    first.onEnd(({ reason }) => {
      if (reason !== 'memberClosed') session.end(reason);
    }),
  );
}
