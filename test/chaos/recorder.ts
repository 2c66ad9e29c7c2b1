/** Records the events in memory and in a file. */

import { closeSync, openSync, writeSync } from 'node:fs';
import { writeEvent, type ChaosEvent } from './history.ts';

const NS_PER_MS = 1e6;

export class Recorder implements Disposable {
  readonly history: ChaosEvent[] = [];
  readonly #origin = process.hrtime.bigint();
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  /** Now, in ms since the run began. */
  now(): number {
    return this.at(process.hrtime.bigint());
  }

  /**
   * Converts a reading of the host's monotonic clock by any of its processes to ms since the run
   * began.
   */
  at(ns: bigint): number {
    return Math.round(Number(ns - this.#origin) / 1_000) / (NS_PER_MS / 1_000);
  }

  add(event: ChaosEvent): void {
    this.history.push(event);
    writeSync(this.#file, `${writeEvent(event)}\n`);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
