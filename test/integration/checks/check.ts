/** What `pnpm verify` runs and CI runs once: a claim, and how it is measured. */

/** Figures of one run: by name, as the evidence has them. */
export type Figures = Readonly<Record<string, number>>;

interface Run {
  /** Throws when the claim does not hold. */
  readonly figures: Figures;
}

export interface CheckContext {
  /** Of the whole row. */
  readonly seed: number;
  /** The run's own chance, for phases and choices: the same seed, the same choices. */
  readonly random: () => number;
  /** Whether bounds of a few ms are asserted: not where other tests take the machine's time. */
  readonly isTimed: boolean;
  /** How long to take, for a check that takes any time; its own default where absent. */
  readonly minutes?: number;
}

export interface Check {
  readonly name: string;
  /** What must hold, in one sentence. */
  readonly claim: string;
  /** How it is measured, for readers of the evidence. */
  readonly method: string;
  /** How many runs the claim asks for. */
  readonly runs: number;
  /** How many runs may be under way at once. */
  readonly parallel: number;
  /**
   * Whether this machine can run it, and a word on standard error where it cannot; every machine
   * where it is left out.
   */
  readonly canRun?: () => Promise<boolean>;
  /** Opens what all runs share; the function that it resolves with makes one run. */
  readonly open: () => Promise<OpenCheck>;
}

export interface OpenCheck extends AsyncDisposable {
  run(index: number, context: CheckContext): Promise<Run>;
}

/** Opens a check whose runs share one server or cluster. It stops after the last run. */
export function onServer<T extends { stop(): Promise<void> }>(
  start: () => Promise<T>,
  run: (server: T, context: CheckContext, index: number) => Promise<Run>,
): Check['open'] {
  return async () => {
    const server = await start();
    return {
      run: (index, context) => run(server, context, index),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  };
}

/** A small generator of its own (mulberry32), as a run must be repeatable from its seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
