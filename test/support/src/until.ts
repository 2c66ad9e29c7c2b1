import { setTimeout as sleep } from 'node:timers/promises';

export interface UntilOptions {
  /** What is waited for, for the error: "a leader". */
  readonly what: string;
  /**
   * How long to wait at most, in ms. 30 s by default: this machine may be busy, and waiting for
   * what comes costs nothing.
   */
  readonly withinMs?: number;
  /** The pause between two looks, in ms. 20 by default. */
  readonly everyMs?: number;
}

/** What a condition answers while it does not hold. 0 and '' are answers like any other. */
type Unmet = false | null | undefined;

/**
 * How long the last look may take, which comes after the time: the machine may have stood still
 * meanwhile.
 */
const LAST_LOOK_MS = 500;

const WAIT_MS = 30_000;

/**
 * Polls until the condition answers something other than false, null or undefined, and gives that
 * answer. A condition that throws does not hold yet. After `withinMs`, and one more look, it throws
 * an error that says what was waited for; its `cause` is what that look threw.
 */
export async function until<T>(condition: () => T | Promise<T>, options: UntilOptions): Promise<Exclude<T, Unmet>> {
  const { what, withinMs = WAIT_MS, everyMs = 20 } = options;
  const end = performance.now() + withinMs;
  for (;;) {
    const leftMs = end - performance.now();
    let cause: unknown;
    try {
      const answer = await answerWithin(condition, Math.max(leftMs, LAST_LOOK_MS));
      if (isMet(answer)) return answer;
    } catch (error) {
      cause = error;
    }
    if (leftMs <= 0) throw new Error(`waited ${withinMs} ms in vain for ${what}`, { cause });
    await sleep(Math.min(everyMs, Math.max(0, end - performance.now())));
  }
}

function isMet<T>(answer: T): answer is Exclude<T, Unmet> {
  return answer !== undefined && answer !== null && answer !== false;
}

/** A condition that hangs must not outlast the wait. */
async function answerWithin<T>(condition: () => T | Promise<T>, ms: number): Promise<T | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([condition(), sleep(ms, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
