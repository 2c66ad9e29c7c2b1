import { ManualClock, MemoryServer } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { bytes, failure, leaseCall, text } from './support.ts';

/** Numbers that look random and are the same in every run. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * Five clients on uneven links write, watch and lose one another for a minute: what they saw, and
 * when.
 */
async function history(seed: number): Promise<readonly string[]> {
  const clock = new ManualClock();
  const next = sequence(seed);
  const server = new MemoryServer({ clock });
  const log: string[] = [];
  const note = (what: string): void => void log.push(`${clock.monotonic()} ${what}`);
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(ms, resolve);
    });
  const client = async (name: string): Promise<void> => {
    const store = server.connect({ latencyMs: () => (next(50) === 0 ? Infinity : next(30)) });
    const watch = async (): Promise<void> => {
      const onStale = (): void => note(`${name} is stale`);
      for await (const entry of store.watch('key', { signal: new AbortController().signal, onStale })) note(`${name} sees ${text(entry)}`);
    };
    watch().catch(() => note(`${name} ends`));
    while (clock.monotonic() < 60_000) {
      const current = await store.read('key', { timeoutMs: 100 }).catch(() => undefined);
      const lease = await store.grantLease(500, { ...leaseCall(clock) }).catch(() => undefined);
      const change = { key: 'key', expect: current?.revision ?? null, put: bytes(`${name} ${next(1_000)}`), lease: lease?.id ?? null };
      note(`${name} ${String(await failure(store.compareAndSwap([change], { timeoutMs: 100 })))}`);
      if (next(10) === 0) store.link.reset();
      await sleep(next(300));
    }
    await store.close();
  };
  await clock.run(Promise.all(['a', 'b', 'c', 'd', 'e'].map(client)));
  note(server.keys().join());
  await server.close();
  return log;
}

it('the same seed gives exactly the same history, another seed another one', async () => {
  const [first, again, other] = [await history(1), await history(1), await history(2)];
  expect(first.length).toBeGreaterThan(1_000);
  expect(first.some((line) => line.includes('stale'))).toBe(true);
  expect(first.some((line) => line.includes('TIMEOUT unknown'))).toBe(true);
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});
