/**
 * A process that uses a store whose server is hostile, and measures itself. Arguments: the store's
 * URL, the duration in ms, and the package to open the store with (default `incumbent`). It emits
 * `warm` and begins on SIGUSR2. At the end it emits `measured`, and on SIGUSR2 waits until the
 * store works again.
 */

import { on } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type * as Incumbent from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const [url = '', lastsMs = '4000', name = 'incumbent'] = process.argv.slice(2);
/** May be another checkout, if that is what is measured. */
const { openStore }: typeof Incumbent = await import(name);

const MIB = 2 ** 20;
/** A process that uses more memory is stopped to protect the machine. */
const MAX_RSS_BYTES = 1_536 * MIB;
const CALLS = 4;
const CALL_MS = 2_000;
const WARM_CALLS = 300;
const RESOLUTION_MS = 5;

// In a thread of its own, because the process may be too busy to check.
new Worker(
  `const { parentPort } = require('node:worker_threads');
   setInterval(() => { if (process.memoryUsage.rss() > ${MAX_RSS_BYTES}) process.kill(process.pid, 'SIGKILL'); }, 20);`,
  { eval: true },
).unref();

const codes = new Map<string, number>();

function count(outcome: string): void {
  codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
}

/** Counts the error codes of calls. Reports an error without a code in full. */
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

/** Calls with timeouts of their own are sent separately. */
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

/** Yields once for each SIGUSR2, however early it arrives. */
const signals = on(process, 'SIGUSR2');

// Keeps the process alive while its parent is busy.
const waiting = setInterval(() => {}, 60_000);
await warmUp();
emit('warm');
await signals.next();
const [baseRss, base] = [process.memoryUsage.rss(), process.memoryUsage()];
let [external, blockedMs] = [0, 0];
/** The processor time of this thread alone, without other processes. */
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
