/**
 * Loaded by Node before the program, in each of its threads. In a worker thread it waits for a
 * file, and then makes the thread fail as the file says: `throw`, or `pause` and a time in ms.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const CHECK_EVERY_MS = 20;

const file = process.env['INCUMBENT_TEST_WORKER_FAULT'];
if (!isMainThread && file !== undefined) setInterval(() => failBy(file), CHECK_EVERY_MS);

function failBy(path: string): void {
  if (!existsSync(path)) return;
  const [kind, ms] = readFileSync(path, 'utf8').split(' ');
  rmSync(path);
  if (kind === 'throw') throw new Error('this worker fails for a test');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
}
