/** Processes with the same jobs, and what became of each slot of these jobs. */

import { spawnScript, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { WAIT_MS } from './pair.ts';

const PROCESS = new URL('../cron-process.ts', import.meta.url);

/**
 * How a fleet decides which process runs a slot: `@incumbent/cron`, or node-cron with a lock in
 * Redis for each slot, which is kept until its ttl or released after the run.
 */
export type CronKind = 'fleet' | 'kept' | 'released';

export interface CronFleetOptions {
  readonly url: string;
  readonly kind: CronKind;
  readonly jobs: number;
  readonly workMs: number;
  readonly ttlMs: number;
}

/** The number of slots of each fate. */
export interface SlotCounts {
  readonly slots: number;
  /** Slots with more than one run. */
  readonly twice: number;
  /** Slots without a run. */
  readonly missed: number;
  /** Slots whose only run began and did not end. */
  readonly interrupted: number;
  /** Slots that are missed or interrupted, and that no process has reported. */
  readonly silent: number;
}

interface Fate {
  started: number;
  done: number;
  reported: number;
}

const SECOND_MS = 1_000;

/** Three processes with the same jobs. A process that is killed is replaced. */
export class CronFleet implements AsyncDisposable {
  readonly #options: CronFleetOptions;
  readonly #fates = new Map<string, Fate>();
  readonly #all = new Set<ScriptProcess>();
  #present: ScriptProcess[] = [];

  constructor(options: CronFleetOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#present = await Promise.all([this.#spawn(), this.#spawn(), this.#spawn()]);
  }

  /** Kills some processes, and starts as many after a while. */
  async kill(indices: readonly number[], downMs: number): Promise<void> {
    for (const index of indices) this.#present[index]?.sigkill();
    await passed(downMs);
    await Promise.all(
      indices.map(async (index) => {
        this.#present[index] = await this.#spawn();
      }),
    );
  }

  async pause(indices: readonly number[], ms: number): Promise<void> {
    const processes = indices.flatMap((index) => this.#present[index] ?? []);
    for (const process of processes) process.sigstop();
    await passed(ms);
    for (const process of processes) process.sigcont();
  }

  /** Whether each job has run, or been reported, at or after this time. */
  hasReached(time: number): boolean {
    const reached = new Set<string>();
    for (const [key, { started, reported }] of this.#fates) {
      const [job = '', slot] = key.split(' ');
      if (Number(slot) >= time && started + reported > 0) reached.add(job);
    }
    return reached.size === this.#options.jobs;
  }

  /** Counts the slots of all jobs from one time to before another. */
  counts(from: number, to: number): SlotCounts {
    const counts = { slots: 0, twice: 0, missed: 0, interrupted: 0, silent: 0 };
    for (let job = 0; job < this.#options.jobs; job += 1)
      for (let slot = Math.ceil(from / SECOND_MS) * SECOND_MS; slot < to; slot += SECOND_MS) {
        const { started = 0, done = 0, reported = 0 } = this.#fates.get(`job-${job} ${slot}`) ?? {};
        counts.slots += 1;
        if (started > 1) counts.twice += 1;
        if (started === 0) counts.missed += 1;
        if (started > 0 && done === 0) counts.interrupted += 1;
        if (done === 0 && reported === 0) counts.silent += 1;
      }
    return counts;
  }

  /** Ends all processes in an orderly way. */
  async stop(): Promise<void> {
    for (const process of this.#present) process.sigterm();
    await Promise.all(this.#present.map(({ exited }) => exited));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all].map((process) => process[Symbol.asyncDispose]()));
  }

  async #spawn(): Promise<ScriptProcess> {
    const { url, kind, jobs, workMs, ttlMs } = this.#options;
    const args = [url, kind, ...[jobs, workMs, ttlMs].map(String)];
    const process = await spawnScript(PROCESS, { args, onEvent: (event) => this.#see(event) });
    this.#all.add(process);
    await process.waitFor('ready', { withinMs: WAIT_MS });
    return process;
  }

  #see({ event, fields }: ScriptEvent): void {
    const job = String(fields['job']);
    switch (event) {
      case 'started':
      case 'done':
        this.#fate(job, Number(fields['slot']))[event] += 1;
        return;
      case 'reported':
        for (let slot = Number(fields['from']); slot <= Number(fields['to']); slot += SECOND_MS) this.#fate(job, slot).reported += 1;
        return;
      default:
    }
  }

  #fate(job: string, slot: number): Fate {
    const key = `${job} ${slot}`;
    const fate = this.#fates.get(key) ?? { started: 0, done: 0, reported: 0 };
    this.#fates.set(key, fate);
    return fate;
  }
}

async function passed(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
