/** Worlds in processes of their own, one to a core. */

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Summary } from '@incumbent/simulator';

/** The worlds of `count` seeds from `start` on. */
export interface Batch {
  readonly profile: string;
  readonly start: number;
  readonly count: number;
}

const PROGRAM = fileURLToPath(new URL('worker.ts', import.meta.url));
const FLAGS = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];

/** One process, for one batch after the other. */
export class Worker implements Disposable {
  readonly #child: ChildProcess = fork(PROGRAM, [], { execArgv: FLAGS, env: { ...process.env, NODE_OPTIONS: '' } });

  /** Rejects where the process dies. */
  async run(batch: Batch): Promise<Summary> {
    const { profile, start, count } = batch;
    const { promise, resolve, reject } = Promise.withResolvers<Summary>();
    const died = (): void => reject(new Error(`the worker died on seeds ${start} to ${start + count - 1} of ${profile}`));
    this.#child.once('exit', died);
    this.#child.once('message', (summary: Summary) => resolve(summary));
    this.#child.send(batch);
    try {
      return await promise;
    } finally {
      this.#child.off('exit', died);
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill();
  }
}
