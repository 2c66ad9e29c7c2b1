/** Processes that keep the machine's processors busy. */

import { spawn, type ChildProcess } from 'node:child_process';

/**
 * This many processes that loop without a pause, until this object is disposed of or this process
 * ends.
 */
export class BusyLoops implements Disposable {
  readonly #loops: readonly ChildProcess[];

  constructor(count: number) {
    this.#loops = Array.from({ length: count }, busyLoop);
  }

  get pids(): readonly number[] {
    return this.#loops.flatMap(({ pid }) => pid ?? []);
  }

  [Symbol.dispose](): void {
    for (const loop of this.#loops) loop.kill();
  }
}

/** The child ends with this process, however this process ends. */
function busyLoop(): ChildProcess {
  return spawn(process.execPath, ['--eval', `while (process.ppid === ${process.pid});`], { stdio: 'ignore' });
}
