/** A thread that runs one target until its time is over, or until an input shows a defect. */

import { parentPort, workerData } from 'node:worker_threads';

import fc from 'fast-check';

import { randomOf } from '../random.ts';
import { measure } from './bounds.ts';
import { Coverage } from './coverage.ts';
import { Mailbox } from './mailbox.ts';
import { mutate, pick } from './mutate.ts';
import { Corpus, feed, MAX_INPUT_BYTES, targetsIn, type FuzzTarget } from './target.ts';

export interface Job {
  /** The module that exports the target, and the target's name. */
  readonly file: string;
  readonly target: string;
  readonly seed: number;
  readonly forMs: number;
  /** Whether inputs that reach new code are added to the corpus. */
  readonly keeps: boolean;
  readonly memory: SharedArrayBuffer;
}

export interface Result {
  readonly inputs: number;
  /** How many inputs reached new code. */
  readonly found: number;
  /** The error of the last input, if it shows a defect. */
  readonly defect?: string;
}

/** Measuring the coverage costs as much as this many inputs. */
const BATCH = 256;
/** This many inputs of a batch come from fast-check. The others are changes of known inputs. */
const GENERATED = 16;

class Fuzzer {
  readonly #target: FuzzTarget;
  readonly #job: Job;
  readonly #corpus: Corpus;
  readonly #mailbox: Mailbox;
  readonly #coverage = new Coverage();
  /** The inputs that reached new code. */
  readonly #pool: Uint8Array[] = [];
  #inputs = 0;
  #found = 0;

  constructor(target: FuzzTarget, job: Job) {
    this.#target = target;
    this.#job = job;
    this.#corpus = new Corpus(job.file, job.target);
    this.#mailbox = new Mailbox(job.memory);
  }

  async run(): Promise<Result> {
    using _ = this.#coverage;
    try {
      await this.#fuzz();
      return { inputs: this.#inputs, found: this.#found };
    } catch (error) {
      return { inputs: this.#inputs, found: this.#found, defect: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  }

  async #fuzz(): Promise<void> {
    const endsAt = performance.now() + this.#job.forMs;
    const chance = randomOf(this.#job.seed);
    for (const { input } of this.#corpus.read()) {
      await this.#feed(input);
      this.#pool.push(input);
    }
    this.#coverage.remember(this.#coverage.take());
    while (performance.now() < endsAt) {
      const generated = fc.sample(this.#target.inputs, { seed: Math.floor(chance() * 2 ** 31), numRuns: GENERATED });
      const pool = [...this.#pool, ...generated];
      const changed = Array.from({ length: BATCH - GENERATED }, () =>
        mutate(pick(pool, chance) ?? new Uint8Array(), pool, this.#target.words ?? [], chance),
      );
      await this.#feedAll([...generated.map((input) => input.subarray(0, MAX_INPUT_BYTES)), ...changed], endsAt);
    }
  }

  async #feedAll(inputs: readonly Uint8Array[], endsAt: number): Promise<void> {
    for (const input of inputs) {
      if (performance.now() > endsAt) break;
      await this.#feed(input);
    }
    const blocks = this.#coverage.take();
    if (!this.#coverage.isNew(blocks)) return;
    await this.#keepNew(inputs);
    // Some blocks run only once, whatever the input.
    this.#coverage.remember(blocks);
  }

  /**
   * Reads them again to find the inputs that reach new code. Halves the batch repeatedly, because
   * there are few.
   */
  async #keepNew(inputs: readonly Uint8Array[]): Promise<void> {
    for (const input of inputs) await this.#feed(input);
    const blocks = this.#coverage.take();
    const [input] = inputs;
    if (input === undefined || !this.#coverage.isNew(blocks)) return;
    if (inputs.length > 1) {
      const middle = Math.floor(inputs.length / 2);
      await this.#keepNew(inputs.slice(0, middle));
      return this.#keepNew(inputs.slice(middle));
    }
    this.#coverage.remember(blocks);
    this.#pool.push(input);
    this.#found += 1;
    if (this.#job.keeps) this.#corpus.add(input);
  }

  async #feed(input: Uint8Array): Promise<void> {
    this.#mailbox.put(input);
    this.#inputs += 1;
    const done = measure();
    await feed(this.#target, input);
    done();
  }
}

/** Only `fuzz` starts this worker. */
function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && 'target' in value && 'memory' in value;
}

const job: unknown = workerData;
if (!isJob(job)) throw new TypeError('a worker of the fuzzer was started without a job');
const found = (await targetsIn(job.file)).find(({ target }) => target.name === job.target);
if (found === undefined) throw new TypeError(`${job.file} has no target ${job.target}`);
const result = await new Fuzzer(found.target, job).run();
parentPort?.postMessage(result);
