/**
 * Fuzzes targets in parallel, each in a thread of its own with bounded memory. Notices targets that
 * hang.
 */

import { Worker } from 'node:worker_threads';

import { Mailbox } from './mailbox.ts';
import { Corpus, type FoundTarget } from './target.ts';
import type { Job, Result } from './worker.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** How long each target runs. */
  readonly forMs: number;
  /**
   * Whether inputs that reach new code are added to the corpus. An input that shows a defect always
   * is.
   */
  readonly keeps: boolean;
  /** Prints a line for people. */
  readonly say: (line: string) => void;
  /** An input that takes longer hangs, by the wall clock on a busy machine. Default 60 s. */
  readonly hangsAfterMs?: number;
}

export interface Fuzzed {
  readonly passed: number;
  readonly failed: number;
}

const WORKER = new URL('worker.ts', import.meta.url);
const EXEC_ARGV = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
const HANGS_AFTER_MS = 60_000;
/**
 * A reader that keeps everything that it reads exceeds this limit. Node then adds 16 MB, in which
 * the thread ends. If one collection promotes more than that, V8 aborts the whole process instead,
 * so the young generation is small.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };

export async function fuzz(targets: readonly FoundTarget[], options: FuzzOptions): Promise<Fuzzed> {
  const passed = await Promise.all(targets.map((target) => passes(target, options)));
  const failed = passed.filter((isPassed) => !isPassed).length;
  return { passed: targets.length - failed, failed };
}

async function passes({ name, file, target }: FoundTarget, options: FuzzOptions): Promise<boolean> {
  const { seed, forMs, keeps, say } = options;
  const mailbox = new Mailbox();
  const job: Job = { file, target: target.name, seed, forMs, keeps, memory: mailbox.memory };
  const { inputs, found, defect } = await resultOf(job, mailbox, options.hangsAfterMs ?? HANGS_AFTER_MS);
  if (defect === undefined) {
    say(`${name}: ${inputs} inputs, ${found} of them new`);
    return true;
  }
  const kept = new Corpus(file, target.name).add(mailbox.input);
  say(`FAILED ${name} after ${inputs} inputs, with the seed ${seed}\n    ${defect.replaceAll('\n', '\n    ')}\n    the input: ${kept}`);
  return false;
}

/** Never rejects: a worker that dies or hangs has also found a defect. */
async function resultOf(job: Job, mailbox: Mailbox, hangsAfterMs: number): Promise<Result> {
  const ended = Promise.withResolvers<Result>();
  const fail = (defect: string): void => ended.resolve({ inputs: mailbox.count, found: 0, defect });
  const worker = new Worker(WORKER, { workerData: job, execArgv: EXEC_ARGV, resourceLimits: MEMORY });
  worker.once('message', (result: Result) => ended.resolve(result));
  worker.once('error', (error: unknown) => fail(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  worker.once('exit', (code) => fail(`the worker ended with ${code}`));
  let before = -1;
  const watchdog = setInterval(() => {
    if (mailbox.count === before) fail(`the input was not read within ${hangsAfterMs} ms`);
    before = mailbox.count;
  }, hangsAfterMs);
  try {
    return await ended.promise;
  } finally {
    clearInterval(watchdog);
    await worker.terminate();
  }
}
