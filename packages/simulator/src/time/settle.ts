/**
 * Lets promises settle between two events of a world. Node settles them between two turns of its
 * event loop. V8 can be told to settle them within one turn, which is several times as fast. Both
 * ways give the same order.
 */

import { setImmediate } from 'node:timers';
import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * How promises settle. `native` asks V8 within one turn of the event loop. `turns` uses one turn
 * for each event.
 */
export type PromiseSettling = 'native' | 'turns';

let checkpoint: (() => void) | undefined;

/**
 * Runs `step` until it returns false, and lets promises settle after each call. Rejects with what
 * `step` throws. `around` wraps the one turn of `native`. It does not wrap `turns`, because other
 * code runs between two turns.
 */
export async function drive(
  step: () => boolean,
  drain: PromiseSettling,
  around: (body: () => void) => void = (body) => body(),
): Promise<void> {
  if (drain === 'turns') return inTurns(step);
  // V8 settles promises only when it is not already settling them, so not from within a promise.
  await turn();
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        around(() => inOneTurn(step, (checkpoint ??= nativeCheckpoint())));
        resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
}

async function inTurns(step: () => boolean): Promise<void> {
  await turn();
  while (step()) await turn();
}

function inOneTurn(step: () => boolean, settle: () => void): void {
  settle();
  while (step()) settle();
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The flag stays on, because V8 may discard compiled code and parse its source again. */
function nativeCheckpoint(): () => void {
  v8.setFlagsFromString('--allow-natives-syntax');
  const made: unknown = vm.runInThisContext('() => { %PerformMicrotaskCheckpoint(); }');
  if (!isTask(made)) throw new TypeError('this runtime cannot settle promises on demand: use the drain "turns"');
  return checked(made);
}

/** If V8 ignored the flag, a world would stand still and seem safe. */
function checked(settle: () => void): () => void {
  let settled = false;
  void Promise.resolve().then(() => {
    settled = true;
  });
  settle();
  if (!settled) throw new Error('this runtime does not settle promises on demand: use the drain "turns"');
  return settle;
}

function isTask(value: unknown): value is () => void {
  return typeof value === 'function';
}
