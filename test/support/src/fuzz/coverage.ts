/** Which parts of the code have run, as V8 counts them: functions, and blocks within them. */

import { Session, type Profiler } from 'node:inspector';

/** Code that is not under test. */
const OTHERS = /\/node_modules\/|\/test\/support\/src\//;

/** For each function that ran, which of its characters are in a block that ran. */
export type Blocks = ReadonlyMap<string, Uint8Array>;

export class Coverage implements Disposable {
  readonly #session = new Session();
  readonly #seen = new Map<string, Uint8Array>();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** What has run since the last call. */
  take(): Blocks {
    const blocks = new Map<string, Uint8Array>();
    // Called before `post` returns, because the session is on this thread.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      for (const { scriptId, functions } of answer.result.filter(isUnderTest))
        for (const { ranges } of functions) {
          const [whole] = ranges;
          if (whole !== undefined && whole.count > 0)
            blocks.set(`${scriptId}:${whole.startOffset}:${whole.endOffset}`, runIn(whole, ranges));
        }
    });
    return blocks;
  }

  /** Whether a block is new. */
  isNew(blocks: Blocks): boolean {
    return [...blocks].some(([key, run]) => {
      const seen = this.#seen.get(key);
      return seen === undefined || run.some((isRun, at) => isRun > (seen[at] ?? 0));
    });
  }

  remember(blocks: Blocks): void {
    for (const [key, run] of blocks) {
      const seen = this.#seen.get(key) ?? new Uint8Array(run.length);
      this.#seen.set(
        key,
        seen.map((isSeen, at) => isSeen | (run[at] ?? 0)),
      );
    }
  }

  [Symbol.dispose](): void {
    this.#session.disconnect();
  }
}

function isUnderTest({ url }: Profiler.ScriptCoverage): boolean {
  return url.startsWith('file:') && !OTHERS.test(url);
}

/** The first range is the function's. Each other range lies within an earlier one. */
function runIn({ startOffset, endOffset }: Profiler.CoverageRange, ranges: readonly Profiler.CoverageRange[]): Uint8Array {
  const run = new Uint8Array(endOffset - startOffset);
  for (const range of ranges) run.fill(range.count > 0 ? 1 : 0, range.startOffset - startOffset, range.endOffset - startOffset);
  return run;
}
