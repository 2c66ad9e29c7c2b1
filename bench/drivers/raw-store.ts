/**
 * The lower bound: no election, one key. A waiting client gets one notification that the key was
 * deleted, and creates it by one swap. With the mode `read`, it reads another key in between. With
 * the mode `watch`, it goes on watching the key that it created, as a leader must to notice that it
 * was replaced. Uses the SDK's adapters without core.
 */

import { openStore } from 'incumbent';
import type { Store } from '@incumbent/core';
import { speak, start, type Contestant } from './speak.ts';

const { url, mode } = start();
const store: Store = await openStore(url);
const CALL = { timeoutMs: 5_000 };

/** The key's revision, if it could be created. */
async function take(key: string): Promise<string | undefined> {
  const result = await store.compareAndSwap([{ key, expect: null, put: Buffer.from('x') }], CALL);
  return result.swapped ? result.revisions[0] : undefined;
}

/** Resolves when the watch has shown the key. Calls `lost` when the key is deleted. */
async function watched(key: string, lost: (reason: string) => void): Promise<void> {
  const states = store.watch(key, { values: false })[Symbol.asyncIterator]();
  await states.next();
  void states.next().then(
    ({ value }) => (value === undefined ? lost('deleted') : undefined),
    (error: unknown) => lost(String(error)),
  );
}

async function gone(key: string): Promise<void> {
  const over = new AbortController();
  for await (const entry of store.watch(key, { signal: over.signal, values: false })) if (entry === undefined) break;
  over.abort();
}

const contestant: Contestant = {
  async campaign(election, _as, lost) {
    // In a folder of its own, like the keys of an election: a store may treat neighbours otherwise.
    const key = `${election}/key`;
    let expect = await take(key);
    for (; expect === undefined; expect = await take(key)) {
      await gone(key);
      if (mode === 'read') await store.read(`${key}/read`, { ...CALL, fresh: false });
    }
    const revision = expect;
    if (mode === 'watch') await watched(key, lost);
    return {
      isLeader: () => true,
      resign: async () => {
        await store.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
      },
    };
  },
};

await speak(contestant);
