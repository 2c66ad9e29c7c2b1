/**
 * The floor: no election, one key. Whoever waits gets one notification that the key has gone, and makes one swap that puts it. By the clients of the SDK's
 * own adapters, without core.
 */

import { openStore } from 'incumbent';
import type { Store } from '@incumbent/core';
import { speak, start, type Contestant } from './speak.ts';

const { url } = start();
const store: Store = await openStore(url);
const CALL = { timeoutMs: 5_000 };

async function take(key: string): Promise<boolean> {
  const result = await store.compareAndSwap([{ key, expect: null, put: Buffer.from('x') }], CALL);
  return result.swapped;
}

async function gone(key: string): Promise<void> {
  const over = new AbortController();
  for await (const entry of store.watch(key, { signal: over.signal, values: false })) if (entry === undefined) break;
  over.abort();
}

const contestant: Contestant = {
  async campaign(key) {
    while (!(await take(key))) await gone(key);
    const entry = await store.read(key, CALL);
    return {
      isLeader: () => true,
      resign: async () => {
        if (entry !== undefined) await store.compareAndSwap([{ key, expect: entry.revision, delete: true }], CALL);
      },
    };
  },
};

await speak(contestant);
