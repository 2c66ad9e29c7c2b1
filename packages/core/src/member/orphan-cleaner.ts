/**
 * Removes keys that a member left in the store and no longer uses: the store may apply an enqueue
 * or a join after the caller gave up, and may refuse a withdrawal. Such a key blocks others for as
 * long as the lease lives. The cleaner looks for such keys at growing intervals until the session
 * ends.
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

/** What an orphan cleaner needs. */
export interface OrphanCleanerContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
}

/** Finds and removes the orphans under one prefix, or of one key. Rejects if it could not. */
export type Cleanup = (session: LeaseSession) => Promise<void>;

const FIRST_CLEANUP_TTLS = 0.5;
const LAST_CLEANUP_TTLS = 32;

/** The cleanups of one member. */
export class OrphanCleaner {
  readonly #context: OrphanCleanerContext;
  readonly #closed = new AbortController();
  /** Ends the running cleanup of each prefix or key. */
  readonly #cleanups = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();

  constructor(context: OrphanCleanerContext) {
    this.#context = context;
  }

  /**
   * Starts a cleanup: at once, and again at growing intervals until the session ends. Replaces the
   * running cleanup of the same `place`, a prefix or a key.
   */
  schedule(place: string, session: LeaseSession, cleanUp: Cleanup): void {
    if (this.#closed.signal.aborted) return;
    this.#cleanups.get(place)?.abort();
    const over = new AbortController();
    this.#cleanups.set(place, over);
    const stops = [onAbort(this.#closed.signal, () => over.abort()), session.onEnd(() => over.abort())];
    const cleaning = this.#keepCleaning(session, cleanUp, over.signal).finally(() => {
      for (const stop of stops) stop();
      this.#running.delete(cleaning);
      if (this.#cleanups.get(place) === over) this.#cleanups.delete(place);
    });
    this.#running.add(cleaning);
  }

  /** Ends all cleanups. Resolves when none of their calls is running. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
  }

  async #keepCleaning(session: LeaseSession, cleanUp: Cleanup, over: AbortSignal): Promise<void> {
    const { clock, timing, telemetry } = this.#context;
    for (let ttls = FIRST_CLEANUP_TTLS; !over.aborted; ttls = Math.min(2 * ttls, LAST_CLEANUP_TTLS)) {
      try {
        await cleanUp(session);
      } catch (error) {
        telemetry.emitOften('retry', { doing: 'removingOrphans', error }, clock.monotonic());
      }
      if (!over.aborted) await sleep(clock, ttls * timing.ttlMs, over);
    }
  }
}

/** The parts of a member that `OwnEntries` uses. */
export interface OwnEntriesContext extends SessionContext {
  readonly self: MemberIdentity;
  readonly semaphore: Semaphore;
  readonly orphanCleaner: OrphanCleaner;
}

/** The entries of this member in the queue of one election: those in use, and the orphans. */
export class OwnEntries {
  readonly #context: OwnEntriesContext;
  readonly #keys: ElectionKeys;
  /**
   * The names of the entries that this member campaigns or leads with. Its other entries are
   * orphans.
   */
  #inUse: readonly string[] = [];

  constructor(context: OwnEntriesContext, keys: ElectionKeys) {
    this.#context = context;
    this.#keys = keys;
  }

  /** Marks the entry with this name as used by a campaign or a leadership. */
  use(name: string): void {
    this.#inUse = this.#inUse.concat(name);
  }

  /** Called for an entry of this member that was read in the queue. */
  seen(key: Key, session: LeaseSession): void {
    if (!this.#isUsed(key)) this.scheduleCleanup(session);
  }

  #isUsed(key: Key): boolean {
    return this.#inUse.some((name) => key.includes(name));
  }

  /** Marks the entry as no longer used. */
  discard(name: string): void {
    this.#inUse = this.#inUse.filter((other) => other !== name);
  }

  /** Schedules the cleanup of the queue and of the leader's record, until the session ends. */
  scheduleCleanup(session: LeaseSession): void {
    if (session.ended === undefined)
      this.#context.orphanCleaner.schedule(this.#keys.candidates, session, (live) => this.#removeOrphans(live));
  }

  /** Removes the unused entries of this member, and a leadership that was handed to one of them. */
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
