/** Runs worlds in processes of their own, one for each core. */

import { fork, type ChildProcess } from 'node:child_process';

/** The worlds of `count` seeds from `start` on. */
export interface Seeds {
  readonly start: number;
  readonly count: number;
}

/** The worlds of a profile of the simulator. */
export interface Batch extends Seeds {
  readonly profile: string;
}

/** The worlds of a simulation of members without a store, by its name. */
export interface PeerSeeds extends Seeds {
  readonly on: string;
}

/** The programs that run them. */
export const WORLDS: URL = new URL('worker.ts', import.meta.url);
export const PEER_WORLDS: URL = new URL('peer-worker.ts', import.meta.url);
export const CROWDS: URL = new URL('crowd-worker.ts', import.meta.url);

/** Worlds make many errors on purpose, and a tenth of their time would go into stack traces. */
const FLAGS = ['--stack-trace-limit=0', '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];

/** One process that runs one batch after the other, and answers each with its results. */
export class Worker<B extends Seeds, Summary> implements Disposable {
  readonly #child: ChildProcess;

  constructor(program: URL) {
    this.#child = fork(program, [], { execArgv: FLAGS, env: { ...process.env, NODE_OPTIONS: '' } });
  }

  /** Rejects if the process dies. */
  async run(batch: B): Promise<Summary> {
    const { start, count } = batch;
    const { promise, resolve, reject } = Promise.withResolvers<Summary>();
    const died = (): void => reject(new Error(`the worker died on seeds ${start} to ${start + count - 1}`));
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

/** As many processes as batches run at the same time. */
export class Workers<B extends Seeds, Summary> implements AsyncDisposable {
  readonly #program: URL;
  readonly #idle: Worker<B, Summary>[] = [];
  readonly #all: Worker<B, Summary>[] = [];

  constructor(program: URL) {
    this.#program = program;
  }

  async run(batch: B): Promise<Summary> {
    const worker = this.#idle.pop() ?? this.#start();
    const summary = await worker.run(batch);
    this.#idle.push(worker);
    return summary;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#all) worker[Symbol.dispose]();
  }

  #start(): Worker<B, Summary> {
    const worker = new Worker<B, Summary>(this.#program);
    this.#all.push(worker);
    return worker;
  }
}
