/**
 * The interface of the checks that `pnpm verify` runs many times and CI once: a claim, and how it
 * is measured.
 */

/** The figures of one run by name, as the evidence records them. */
export type Figures = Readonly<Record<string, number>>;

interface Run {
  /** Throws if the claim does not hold. */
  readonly figures: Figures;
}

export interface CheckContext {
  /** The seed of all runs together. */
  readonly seed: number;
  /** The run's own random numbers, for times and choices. The same seed gives the same choices. */
  readonly random: () => number;
  /**
   * Whether to assert bounds of a few ms. False if other tests use the machine at the same time.
   */
  readonly isTimed: boolean;
  /** The duration of a check that can take any time. Default: the check's own. */
  readonly minutes?: number;
}

export interface Check {
  readonly name: string;
  /** What must hold, in one sentence. */
  readonly claim: string;
  /** How it is measured, for readers of the evidence. */
  readonly method: string;
  /** How many runs the claim needs. */
  readonly runs: number;
  /** How many runs may be active at the same time. */
  readonly parallel: number;
  /**
   * Whether this machine can run the check. If not, writes the reason to standard error. Default:
   * every machine can.
   */
  readonly canRun?: () => Promise<boolean>;
  /** Opens what all runs share. The function that it resolves with makes one run. */
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
