/**
 * A process that uses a store whose server is hostile, and measures itself. Arguments: the store's
 * URL; how long, in ms; and which package to open the store by, `incumbent` by default. It emits
 * `warm`, and on SIGUSR2 begins; emits `measured` at the end, and on SIGUSR2 waits until the store
 * serves again.
 */

import { on } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type * as Incumbent from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const [url = '', lastsMs = '4000', name = 'incumbent'] = process.argv.slice(2);
/** From another checkout, where it is that which is measured. */
const { openStore }: typeof Incumbent = await import(name);

const MIB = 2 ** 20;
/** A process beyond it is stopped: the machine is not its own. */
const MAX_RSS_BYTES = 1_536 * MIB;
const CALLS = 4;
const CALL_MS = 2_000;
const WARM_CALLS = 300;
const RESOLUTION_MS = 5;

// In a thread of its own: the process may be too busy to look.
new Worker(
  `const { parentPort } = require('node:worker_threads');
   setInterval(() => { if (process.memoryUsage.rss() > ${MAX_RSS_BYTES}) process.kill(process.pid, 'SIGKILL'); }, 20);`,
  { eval: true },
).unref();

const codes = new Map<string, number>();

function count(outcome: string): void {
  codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
}

/** Counts the code of what `task` ends with. An error without one is told in full. */
async function settle(task: Promise<unknown>): Promise<void> {
  await task.then(
    () => count('done'),
    (error: unknown) => {
      const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
      if (code === undefined) emit('noCode', { error: String(error) });
      count(code ?? 'none');
    },
  );
}

/** A watch for as long as a call may take. */
async function watch(store: Incumbent.Store): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), CALL_MS);
  try {
    for await (const _state of store.watchList('elections/e/candidates', { signal: over.signal }));
  } finally {
    clearTimeout(timer);
  }
}

/** Calls with times of their own go out by themselves. */
function calls(store: Incumbent.Store): readonly Promise<void>[] {
  return Array.from({ length: CALLS }, (_, index) => settle(store.list('members', { timeoutMs: CALL_MS + index })));
}

async function use(endsAtMs: number): Promise<Incumbent.Store | undefined> {
  let store: Incumbent.Store | undefined;
  while (performance.now() < endsAtMs) {
    await settle(
      (async () => {
        store ??= await openStore(`${url}${url.includes('?') ? '&' : '?'}connectTimeoutMs=${CALL_MS}`);
      })(),
    );
    if (store !== undefined) await Promise.all([...calls(store), settle(watch(store))]);
    await sleep(1);
  }
  return store;
}

async function warmUp(): Promise<void> {
  const store = await openStore(url);
  for (let left = WARM_CALLS; left > 0; left -= CALLS)
    await Promise.all(Array.from({ length: CALLS }, (_, index) => store.list('members', { timeoutMs: 5_000 + index })));
  await store.close();
}

async function recovers(store: Incumbent.Store | undefined): Promise<void> {
  for (let opened = store; ;) {
    try {
      opened ??= await openStore(url);
      await opened.list('members', { timeoutMs: CALL_MS });
      return await opened.close();
    } catch {
      await sleep(100);
    }
  }
}

/** Yields once for each SIGUSR2, however early it comes. */
const signals = on(process, 'SIGUSR2');

// Keeps the process while its parent has something to do.
const waiting = setInterval(() => {}, 60_000);
await warmUp();
emit('warm');
await signals.next();
const [baseRss, base] = [process.memoryUsage.rss(), process.memoryUsage()];
let [external, blockedMs] = [0, 0];
/** Of this thread alone: what other processes take of the machine is no concern of the store's. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
let lastMs = cpuMs();
const sampling = setInterval(() => {
  external = Math.max(external, process.memoryUsage().external - base.external);
  blockedMs = Math.max(blockedMs, cpuMs() - lastMs);
  lastMs = cpuMs();
}, 1);
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
const store = await use(performance.now() + Number(lastsMs));
delay.disable();
clearInterval(sampling);
emit('measured', {
  rssMiB: (process.resourceUsage().maxRSS * 1_024 - baseRss) / MIB,
  externalMiB: external / MIB,
  blockedMs,
  delayMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS),
  codes: Object.fromEntries(codes),
});
await signals.next();
await recovers(store);
emit('recovered');
clearInterval(waiting);
await signals.return?.();
