/**
 * What a member left in the store and nobody follows up any more: an enqueue or a join whose caller gave up may still be applied, a withdrawal may
 * have been refused. Such a key stands in others' way for as long as the lease lives, so it is looked for at growing intervals while the session does.
 */

import { onAbort } from '../async/abort.ts';
import type { Lane } from '../async/semaphore.ts';
import { sleep } from '../async/sleep.ts';
import type { Clock } from '../base/clock.ts';
import type { Telemetry } from '../base/telemetry.ts';
import { sweep } from '../leadership/release-machine.ts';
import { release } from '../leadership/release.ts';
import type { Session, SessionContext } from '../lease/session.ts';
import type { Timing } from '../lease/timing.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readLeader, tryRead } from '../protocol/record.ts';
import type { Self } from '../protocol/transactions.ts';
import type { Key } from '../store/contract.ts';

export interface GhostsContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
}

/** Looks for what is left, and removes it. Rejects when it could not. */
export type Look = (session: Session) => Promise<void>;

const FIRST_LOOK_TTLS = 0.5;
const LAST_LOOK_TTLS = 32;

export class Ghosts {
  readonly #context: GhostsContext;
  readonly #closed = new AbortController();
  /** One hunt for each place, however many ghosts it may have. */
  readonly #hunts = new Map<string, AbortController>();
  readonly #under = new Set<Promise<void>>();

  constructor(context: GhostsContext) {
    this.#context = context;
  }

  /** Looks at once, and again until the session ends. A hunt at the same place begins anew. */
  hunt(place: string, session: Session, look: Look): void {
    if (this.#closed.signal.aborted) return;
    this.#hunts.get(place)?.abort();
    const over = new AbortController();
    this.#hunts.set(place, over);
    const stops = [onAbort(this.#closed.signal, () => over.abort()), session.onEnd(() => over.abort())];
    const hunting = this.#hunt(session, look, over.signal).finally(() => {
      for (const stop of stops) stop();
      this.#under.delete(hunting);
      if (this.#hunts.get(place) === over) this.#hunts.delete(place);
    });
    this.#under.add(hunting);
  }

  /** Ends all hunts; resolves when none has a call under way. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#under);
  }

  async #hunt(session: Session, look: Look, over: AbortSignal): Promise<void> {
    const { clock, timing, telemetry } = this.#context;
    for (let ttls = FIRST_LOOK_TTLS; !over.aborted; ttls = Math.min(2 * ttls, LAST_LOOK_TTLS)) {
      try {
        await look(session);
      } catch (error) {
        telemetry.emit('retry', { doing: 'removing what was left', error });
      }
      if (!over.aborted) await sleep(clock, ttls * timing.ttlMs, over);
    }
  }
}

/** What the entries of one election take of a member. */
export interface OwnEntriesContext extends SessionContext {
  readonly self: Self;
  readonly lane: Lane;
  readonly ghosts: Ghosts;
}

/** The entries that this member made in the queue of one election: those in use, and those that nobody uses any more. */
export class OwnEntries {
  readonly #context: OwnEntriesContext;
  readonly #keys: ElectionKeys;
  /** Names of the entries that this member campaigns or leads with. Whatever else of its own is in the queue is a ghost. */
  #inUse: readonly string[] = [];

  constructor(context: OwnEntriesContext, keys: ElectionKeys) {
    this.#context = context;
    this.#keys = keys;
  }

  use(name: string): void {
    this.#inUse = [...this.#inUse, name];
  }

  /** An entry of this member's was seen in the queue. */
  seen(key: Key, session: Session): void {
    if (!this.#isUsed(key)) this.haunt(session);
  }

  #isUsed(key: Key): boolean {
    return this.#inUse.some((name) => key.includes(name));
  }

  discard(name: string): void {
    this.#inUse = this.#inUse.filter((other) => other !== name);
  }

  /** From now on ghosts are looked for, in the queue and in the leader's record, while the session lives. */
  haunt(session: Session): void {
    if (session.ended === undefined) this.#context.ghosts.hunt(this.#keys.candidates, session, (live) => this.#lay(live));
  }

  /** Removes the entries that this member made and does not use, and the leadership that somebody may have handed to one. Names are used once. */
  async #lay(session: Session): Promise<void> {
    const { store, self } = this.#context;
    const queue = await store.list(this.#keys.candidates, { ...session.call, values: false });
    const leader = tryRead(readLeader, await store.read(this.#keys.leader, session.call));
    const marks = queue.flatMap(({ key, lease }) => (lease === session.lease ? [key] : []));
    if (leader?.incarnation === self.incarnation) marks.push(leader.entry);
    const ghosts = new Set(marks.filter((mark) => !this.#isUsed(mark)));
    for (const mark of ghosts) await release({ ...this.#context, keys: this.#keys, mark, session }, sweep);
  }
}
