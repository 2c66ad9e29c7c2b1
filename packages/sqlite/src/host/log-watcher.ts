/**
 * Reports from the operating system that the file has changed. They only make watches faster:
 * without them, the file is polled.
 */

import { utimesSync, watch, type FSWatcher } from 'node:fs';

export interface ChangeReports {
  /** Whether the system reports changes now. */
  readonly isActive: boolean;
  /** Calls `onReport` for each report from now on. Does nothing if it has started already. */
  start(onReport: () => void): void;
  stop(): void;
  /**
   * Makes the system send a report to all processes that watch the file. Called after a commit: by
   * itself, the system reports a commit when it is written, which is before they can read it.
   */
  send(): void;
}

/**
 * Watches the write-ahead log, which every commit writes to, and which exists as long as any
 * process has the file open.
 */
export class LogWatcher implements ChangeReports {
  readonly #path: string;
  #watcher: FSWatcher | undefined;
  #isUnavailable = false;

  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  get isActive(): boolean {
    return this.#watcher !== undefined;
  }

  start(onReport: () => void): void {
    if (this.#watcher !== undefined || this.#isUnavailable) return;
    try {
      this.#watcher = watch(this.#path, { persistent: false }, (event) => {
        // The log was removed or replaced. The next start watches the new log, if there is one.
        if (event === 'rename') this.stop();
        onReport();
      });
      this.#watcher.on('error', () => this.#pollOnly());
    } catch {
      this.#pollOnly();
    }
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  send(): void {
    const now = new Date();
    try {
      utimesSync(this.#path, now, now);
    } catch {
      // There is no log, or another user owns it. The other processes poll.
    }
  }

  /**
   * Stops using reports: the system allows no more watches, or there is no log. Polling continues.
   */
  #pollOnly(): void {
    this.stop();
    this.#isUnavailable = true;
  }
}
