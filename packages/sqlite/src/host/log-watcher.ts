/** Hints that a file has changed, where the system gives any. They save time; nothing depends on them. */

import { watch, type FSWatcher } from 'node:fs';

export interface Hints {
  /** Whether the system tells of changes now. */
  readonly isOn: boolean;
  /** Tells from now on. Does nothing while it does so already. */
  start(changed: () => void): void;
  stop(): void;
}

/** A watch of the write-ahead log: whoever commits writes to it. It stays while anybody has the file open. */
export class LogHints implements Hints {
  readonly #path: string;
  #watcher: FSWatcher | undefined;
  #isOff = false;

  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  get isOn(): boolean {
    return this.#watcher !== undefined;
  }

  start(changed: () => void): void {
    if (this.#watcher !== undefined || this.#isOff) return;
    try {
      this.#watcher = watch(this.#path, { persistent: false }, (event) => {
        // Removed or replaced: the next start finds the new one.
        if (event === 'rename') this.stop();
        changed();
      });
      this.#watcher.on('error', () => this.#giveUp());
    } catch {
      this.#giveUp();
    }
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** The system has no more of them to give: the file is asked all the same. */
  #giveUp(): void {
    this.stop();
    this.#isOff = true;
  }
}
