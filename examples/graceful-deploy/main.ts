/**
 * A deployment: every process of a service is restarted, one after the other, while the work
 * continues. Prints the longest pause.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const [url = 'sqlite:./state.db'] = process.argv.slice(2);
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const NAMES = ['a', 'b', 'c'];
const orders: { readonly at: bigint; readonly term: bigint }[] = [];

const running = new Map<string, ChildProcess>();
for (const name of NAMES) running.set(name, start(name));
await someOrders();
for (const [name, worker] of running) {
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  running.set(name, start(name));
  await someOrders();
}
for (const worker of running.values()) worker.kill('SIGTERM');
await Promise.all([...running.values()].map((worker) => once(worker, 'exit')));

const sorted = orders.toSorted((a, b) => Number(a.at - b.at));
const pauses = sorted.slice(1).map(({ at }, index) => Number(at - (sorted[index]?.at ?? at)) / 1e6);
const isInOrder = sorted.every(({ term }, index) => term >= (sorted[index - 1]?.term ?? 0n));
console.log(
  `${orders.length} orders in ${new Set(orders.map(({ term }) => term)).size} terms; longest pause ${Math.max(...pauses).toFixed(0)} ms`,
);
console.log(isInOrder ? 'never two at work' : 'TWO AT WORK');
process.exitCode = isInOrder ? 0 : 1;

function start(name: string): ChildProcess {
  const worker = fork(WORKER, [url, name], { serialization: 'advanced' });
  worker.on('message', (message: { readonly order: bigint; readonly term: bigint }) => {
    orders.push({ at: message.order, term: message.term });
  });
  return worker;
}

async function someOrders(): Promise<void> {
  const enough = orders.length + 100;
  while (orders.length < enough) await new Promise((resolve) => setTimeout(resolve, 10));
}
