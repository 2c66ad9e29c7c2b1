/**
 * What a member left in the store and nobody follows up any more: an enqueue or a join whose caller gave up may still be applied, a withdrawal may
 * have been refused. Such a key stands in others' way for as long as the lease lives, so it is looked for at growing intervals while the session does.
 */

import { onAbort } from '../async/abort.ts';
import type { Semaphore } from '../async/semaphore.ts';
import { sleep } from '../async/sleep.ts';
import type { Clock } from '../base/clock.ts';
import type { Telemetry } from '../base/telemetry.ts';
import { releaseOrphan } from '../leadership/release-machine.ts';
import { release } from '../leadership/release.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import type { Timing } from '../lease/timing.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readLeader, tryRead } from '../protocol/record.ts';
import type { MemberIdentity } from '../protocol/transactions.ts';
import type { Key } from '../store/contract.ts';

export interface OrphanCleanerContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
}

/** Looks for what is left, and removes it. Rejects when it could not. */
export type Cleanup = (session: LeaseSession) => Promise<void>;

const FIRST_CLEANUP_TTLS = 0.5;
const LAST_CLEANUP_TTLS = 32;

export class OrphanCleaner {
  readonly #context: OrphanCleanerContext;
  readonly #closed = new AbortController();
  /** One cleanup for each place, however many orphans it has. */
  readonly #cleanups = new Map<string, AbortController>();
  readonly #under = new Set<Promise<void>>();

  constructor(context: OrphanCleanerContext) {
    this.#context = context;
  }

  /** Looks at once, and again until the session ends. A cleanup of the same place begins anew. */
  schedule(place: string, session: LeaseSession, cleanUp: Cleanup): void {
    if (this.#closed.signal.aborted) return;
    this.#cleanups.get(place)?.abort();
    const over = new AbortController();
    this.#cleanups.set(place, over);
    const stops = [onAbort(this.#closed.signal, () => over.abort()), session.onEnd(() => over.abort())];
    const cleaning = this.#keepCleaning(session, cleanUp, over.signal).finally(() => {
      for (const stop of stops) stop();
      this.#under.delete(cleaning);
      if (this.#cleanups.get(place) === over) this.#cleanups.delete(place);
    });
    this.#under.add(cleaning);
  }

  /** Ends all cleanups. Resolves when none has a call under way. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#under);
  }

  async #keepCleaning(session: LeaseSession, cleanUp: Cleanup, over: AbortSignal): Promise<void> {
    const { clock, timing, telemetry } = this.#context;
    for (let ttls = FIRST_CLEANUP_TTLS; !over.aborted; ttls = Math.min(2 * ttls, LAST_CLEANUP_TTLS)) {
      try {
        await cleanUp(session);
      } catch (error) {
        telemetry.emit('retry', { doing: 'removingOrphans', error });
      }
      if (!over.aborted) await sleep(clock, ttls * timing.ttlMs, over);
    }
  }
}

/** What the entries of one election take of a member. */
export interface OwnEntriesContext extends SessionContext {
  readonly self: MemberIdentity;
  readonly semaphore: Semaphore;
  readonly orphanCleaner: OrphanCleaner;
}

/** The entries that this member made in the queue of one election: those in use, and those that nobody uses any more. */
export class OwnEntries {
  readonly #context: OwnEntriesContext;
  readonly #keys: ElectionKeys;
  /** Names of the entries that this member campaigns or leads with. Whatever else of its own is in the queue is an orphan. */
  #inUse: readonly string[] = [];

  constructor(context: OwnEntriesContext, keys: ElectionKeys) {
    this.#context = context;
    this.#keys = keys;
  }

  use(name: string): void {
    this.#inUse = [...this.#inUse, name];
  }

  /** An entry of this member's was seen in the queue. */
  seen(key: Key, session: LeaseSession): void {
    if (!this.#isUsed(key)) this.scheduleCleanup(session);
  }

  #isUsed(key: Key): boolean {
    return this.#inUse.some((name) => key.includes(name));
  }

  discard(name: string): void {
    this.#inUse = this.#inUse.filter((other) => other !== name);
  }

  /** From now on orphans are looked for, in the queue and in the leader's record, while the session lives. */
  scheduleCleanup(session: LeaseSession): void {
    if (session.ended === undefined)
      this.#context.orphanCleaner.schedule(this.#keys.candidates, session, (live) => this.#removeOrphans(live));
  }

  /** Removes the entries that this member made and does not use, and the leadership that somebody may have handed to one. Names are used once. */
  async #removeOrphans(session: LeaseSession): Promise<void> {
    const { store, self } = this.#context;
    const queue = await store.list(this.#keys.candidates, { ...session.call, values: false });
    const leader = tryRead(readLeader, await store.read(this.#keys.leader, session.call));
    const entryKeys = queue.flatMap(({ key, lease }) => (lease === session.lease ? [key] : []));
    if (leader?.incarnation === self.incarnation) entryKeys.push(leader.entry);
    const orphans = new Set(entryKeys.filter((entryKey) => !this.#isUsed(entryKey)));
    for (const entryKey of orphans) await release({ ...this.#context, keys: this.#keys, entryKey, session }, releaseOrphan);
  }
}
