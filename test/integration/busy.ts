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

/**
 * The `N` of `--busy N`. 0 if the option is absent. Throws a `RangeError` for anything but a whole
 * number from 0 to 64.
 */
export function busyCount(option: string | undefined): number {
  const count = Number(option ?? 0);
  if (Number.isInteger(count) && count >= 0 && count <= 64) return count;
  throw new RangeError(`--busy is ${option}: it must be a whole number from 0 to 64`);
}

/** The child ends with this process, however this process ends. */
function busyLoop(): ChildProcess {
  return spawn(process.execPath, ['--eval', `while (process.ppid === ${process.pid});`], { stdio: 'ignore' });
}
