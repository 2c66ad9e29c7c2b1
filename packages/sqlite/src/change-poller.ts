/**
 * Finds changes by other processes. SQLite sends no notifications, so the poller asks for the
 * file's change token: every 10 ms while a watch waits for another process, and every 100 ms
 * otherwise. Where the operating system reports changes of the log, a report makes the poller ask
 * at once.
 *
 * A poll also finds that a lease has ended, and that a process has died whose lease holds a watched
 * key.
 */

import type { Cancel, LeaseId, StoreError } from '@incumbent/core';

import type { Database } from './client/database.ts';
import { endsWatch, toStoreError } from './errors.ts';
import type { HolderMonitor } from './holder-monitor.ts';
import type { Host } from './host/host.ts';
import type { ChangeReports } from './host/log-watcher.ts';
import type { Tables } from './schema/tables.ts';
import type { WatchHub } from './watch-hub.ts';

/** A process that writes in a loop polls no more often. */
const LEAST_MS = 1;
const WAITING_MS = 10;
const IDLE_MS = 100;
/**
 * While the system reports changes, only every fifth poll asks for the token without a report.
 */
const UNREPORTED_EVERY = 5;
/** After a report, this many polls ask, because on a slow disk a commit becomes visible late. */
const POLLS_AFTER_REPORT = 20;
/**
 * While a watch waits for another process, only every tenth poll checks whether another file is at
 * the path. The check costs as much as the rest of the poll, and every call does it too.
 */
const FILE_CHECK_EVERY = 10;
/**
 * The pauses, in ms, before the polls that follow a report. The system reports a commit when it is
 * written, but the commit can be read only after it is synced. The writer reports the commit once
 * more after that, but cannot if another user owns the log.
 */
const PAUSES_AFTER_REPORT_MS: readonly number[] = [0, 1, 1, 2, 4];
/** After failing for this long, watches are stale. */
const STALE_MS = 1_000;

export interface ChangePollerContext {
  readonly database: Database;
  readonly host: Host;
  readonly hub: WatchHub;
  /** The leases that this store was granted. */
  readonly ownLeases: ReadonlySet<LeaseId>;
  readonly monitor: HolderMonitor;
  readonly reports: ChangeReports;
}

export class ChangePoller {
  readonly #context: ChangePollerContext;
  #cancelPoll: Cancel = () => {};
  /** When the next poll is due, by performance.now(). */
  #pollAt = Infinity;
  /** When the last poll was. */
  #polledAt = -Infinity;
  #changeToken: string | undefined;
  #nextEndUs = Infinity;
  #waitsForOthers = false;
  #polls = 0;
  /** How many of the next polls must ask for the change token, because of a report. */
  #promptPollsLeft = POLLS_AFTER_REPORT;
  /** The pauses, in ms, before the next polls after a report. */
  #pausesLeft: number[] = [];
  #failingSince: number | undefined;

  constructor(context: ChangePollerContext) {
    this.#context = context;
  }

  /**
   * Polls now. Called after a watch was added, and after this process has written: the change token
   * does not change with a connection's own commits.
   */
  pollNow(): void {
    this.#changeToken = undefined;
    if (!this.#context.hub.isEmpty) this.#pollIn(0);
  }

  /** Stops until the next `pollNow`. */
  stop(): void {
    this.#cancelPoll();
    this.#pollAt = Infinity;
    this.#context.reports.stop();
  }

  #onReport(): void {
    this.#promptPollsLeft = POLLS_AFTER_REPORT;
    if (this.#pausesLeft.length === 0) this.#pausesLeft = [...PAUSES_AFTER_REPORT_MS];
    this.#pollIn(this.#pausesLeft.shift() ?? 0);
  }

  /**
   * Polls at most once in `LEAST_MS`. Never delays a poll that is due earlier, so that a stream of
   * reports cannot delay it for ever.
   */
  #pollIn(delayMs: number): void {
    const now = performance.now();
    const at = Math.max(now + delayMs, this.#polledAt + LEAST_MS);
    if (at >= this.#pollAt) return;
    this.#pollAt = at;
    this.#cancelPoll();
    this.#cancelPoll = schedule(at - now, () => this.#poll());
  }

  #poll(): void {
    this.#pollAt = Infinity;
    this.#polledAt = performance.now();
    const { hub, reports, database } = this.#context;
    if (hub.isEmpty) return this.stop();
    reports.start(() => this.#onReport());
    try {
      this.#update();
      this.#endDead();
      this.#failingSince = undefined;
    } catch (error) {
      this.#fail(toStoreError(error, database.path));
    }
    if (!hub.isEmpty) this.#pollIn(this.#pausesLeft.shift() ?? (this.#waitsForOthers ? WAITING_MS : IDLE_MS));
  }

  #update(): void {
    const { database, host, hub, ownLeases, monitor } = this.#context;
    this.#polls += 1;
    this.#promptPollsLeft -= 1;
    if (!this.#mustAsk()) return;
    const changeToken = database.changeToken({ checkFile: !this.#waitsForOthers || this.#polls % FILE_CHECK_EVERY === 0 });
    // Use one time for all reads. Otherwise a lease could end between the read that asks whether
    // one has ended and the read that asks which one ends next.
    const nowUs = host.nowUs();
    const isDue = nowUs >= this.#nextEndUs;
    if (changeToken === this.#changeToken && !isDue && this.#failingSince === undefined) return;
    // This deletion serves readers of the file itself. Watches ignore ended leases, deleted or not.
    if (isDue) this.#tryWrite((tables) => tables.deleteEndedLeases());
    const status = database.readAt(nowUs, (tables) => tables.status());
    // A renewal changes the file, but nothing that is watched.
    const isChanged = database.readAt(nowUs, (tables) => hub.update(tables, status, isDue, () => database.checkInTime(nowUs)));
    if (isChanged) this.#waitsForOthers = monitor.waitsForOthers((lease) => ownLeases.has(lease));
    // Set last: an update that throws must be done again.
    this.#changeToken = changeToken;
    this.#nextEndUs = status.nextEndUs;
    this.#pausesLeft = [];
  }

  /**
   * Whether this poll must ask for the change token. False for most polls while the system reports
   * changes.
   */
  #mustAsk(): boolean {
    const { reports, host } = this.#context;
    if (this.#promptPollsLeft >= 0 || !reports.isActive) return true;
    if (!this.#waitsForOthers || this.#changeToken === undefined || this.#failingSince !== undefined) return true;
    return this.#polls % UNREPORTED_EVERY === 0 || host.nowUs() >= this.#nextEndUs;
  }

  #endDead(): void {
    const dead = this.#context.monitor.findDead();
    if (dead.length === 0) return;
    if (this.#tryWrite((tables) => tables.endLeases(dead))) this.pollNow();
  }

  /** False after an error: another process may be writing the same, or the disk may be full. */
  #tryWrite(work: (tables: Tables) => void): boolean {
    try {
      this.#context.database.write(work);
      return true;
    } catch {
      // A later poll tries again. Reads do not depend on this write.
      return false;
    }
  }

  #fail(cause: StoreError): void {
    const { hub } = this.#context;
    if (endsWatch(cause)) return hub.fail(cause);
    this.#failingSince ??= performance.now();
    if (performance.now() - this.#failingSince >= STALE_MS) hub.lose(cause);
  }
}

/**
 * Runs a task later. A timer takes at least 1 ms, and does not keep the process alive. An immediate
 * does, for one turn of the event loop: without that, an idle event loop would not run it.
 */
function schedule(delayMs: number, task: () => void): Cancel {
  if (delayMs <= 0) {
    const immediate = setImmediate(task);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(task, delayMs).unref();
  return () => clearTimeout(timer);
}
