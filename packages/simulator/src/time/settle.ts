/**
 * Between two events of a world everything that can happen without time passing does: promises settle. Node empties its queue of promises by itself
 * between two turns of its loop; V8 can be told to do so within one turn, which is several times as fast. Either way the same things happen in the
 * same order.
 */

import { setImmediate } from 'node:timers';
import v8 from 'node:v8';
import vm from 'node:vm';

/** How promises are made to settle: `native` asks V8 within one turn of the loop, `turns` takes a turn for each event. */
export type PromiseSettling = 'native' | 'turns';

let checkpoint: (() => void) | undefined;

/**
 * Runs `step` until it returns false, and lets promises settle after each. Rejects with what `step` throws. `around` is put around the one turn of
 * `native`; between two `turns` others run too, who may not be hindered.
 */
export async function drive(
  step: () => boolean,
  drain: PromiseSettling,
  around: (body: () => void) => void = (body) => body(),
): Promise<void> {
  if (drain === 'turns') return inTurns(step);
  // V8 settles promises only when it is not doing so already: so not from within one.
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

/** The flag stays on: V8 may forget compiled code, and then reads its text again. */
function nativeCheckpoint(): () => void {
  v8.setFlagsFromString('--allow-natives-syntax');
  const made: unknown = vm.runInThisContext('() => { %PerformMicrotaskCheckpoint(); }');
  if (!isTask(made)) throw new TypeError('this runtime cannot settle promises on demand: use the drain "turns"');
  return checked(made);
}

/** Where V8 ignored it, a world would stand still and seem safe. */
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
