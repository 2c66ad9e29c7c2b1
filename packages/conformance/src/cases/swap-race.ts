import assert from 'node:assert/strict';
import type { Entry, SwapResult } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { bytes, connect, present, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import type { StoreHarness } from '../harness.ts';
import { cycle, times } from '../combinations.ts';

const define = casesOf('compareAndSwap');

function connectMany(harness: StoreHarness, count: number): Promise<readonly Client[]> {
  return Promise.all(times(count).map(() => connect(harness)));
}

/** What a refused swap of one key found. */
function metBy(result: Extract<SwapResult, { swapped: false }>): Entry {
  return present(result.failed[0]?.current, 'the key that a swap was refused for');
}

/** Adds one to the value. Repeats the swap with what the refusal returned, until it succeeds. */
async function increment(client: Client, key: string): Promise<void> {
  let current = await client.get(key);
  for (let tries = 0; tries < 10_000; tries += 1) {
    const next = bytes(String(Number(text(current)) + 1));
    const result = await client.swap({ key, expect: current.revision, put: next });
    if (result.swapped) return;
    current = metBy(result);
  }
  assert.fail('10,000 swaps in a row were refused');
}

export const swapRaceCases: readonly StoreCase[] = [
  define('of 16 swaps at once on one revision, exactly one wins', async (client, harness) => {
    const clients = await connectMany(harness, 4);
    for (const round of times(10)) {
      const key = `k${round}`;
      const expect = await client.create(key, 'none');
      const results = await Promise.all(times(16).map((i) => cycle(clients, i).swap({ key, expect, put: bytes(`${i}`) })));
      const winners = times(16).filter((i) => results[i]?.swapped);
      assert.equal(winners.length, 1, `${winners.length} of 16 won`);
      assert.equal(text(await client.get(key)), String(winners[0]), 'the value is not the winner’s');
    }
  }),

  define('of 16 creations at once of one key, exactly one wins', async (client, harness) => {
    const clients = await connectMany(harness, 4);
    for (const round of times(10)) {
      const key = `k${round}`;
      const results = await Promise.all(times(16).map((i) => cycle(clients, i).swap({ key, expect: null, put: bytes(`${i}`) })));
      const winners = times(16).filter((i) => results[i]?.swapped);
      assert.equal(winners.length, 1, `${winners.length} of 16 won`);
      assert.equal(text(await client.get(key)), String(winners[0]), 'the value is not the winner’s');
    }
  }),

  define('of two swaps at once, each on condition of a key that the other writes, exactly one is made', async (client, harness) => {
    const clients = [client, client, await connect(harness)];
    for (const round of times(12)) {
      const [a, b] = [`a${round}`, `b${round}`];
      const [atA, atB] = [await client.create(a, 'none'), await client.create(b, 'none')];
      const results = await Promise.all([
        cycle(clients, round).swap({ key: a, expect: atA }, { key: b, expect: atB, put: bytes('one') }),
        cycle(clients, round + 1).swap({ key: b, expect: atB }, { key: a, expect: atA, put: bytes('two') }),
      ]);
      assert.notEqual(results[0].swapped, results[1].swapped, results[0].swapped ? 'both were made' : 'none was made');
      assert.deepEqual([await client.get(a), await client.get(b)].map(text), results[0].swapped ? ['none', 'one'] : ['two', 'none']);
    }
  }),

  define('of two swaps at once, each on condition that the key of the other is absent, exactly one is made', async (client, harness) => {
    const clients = [client, client, await connect(harness)];
    for (const round of times(12)) {
      const [a, b] = [`a${round}`, `b${round}`];
      const results = await Promise.all([
        cycle(clients, round).swap({ key: a, expect: null }, { key: b, expect: null, put: bytes('one') }),
        cycle(clients, round + 1).swap({ key: b, expect: null }, { key: a, expect: null, put: bytes('two') }),
      ]);
      assert.notEqual(results[0].swapped, results[1].swapped, results[0].swapped ? 'both were made' : 'none was made');
      const there = [await client.read(a), await client.read(b)].map(text);
      assert.deepEqual(there, results[0].swapped ? [undefined, 'one'] : ['two', undefined]);
    }
  }),

  define('swaps that overlap in two keys are atomic: no reader of both sees one without the other', async (client, harness) => {
    const clients = await connectMany(harness, 2);
    await client.swap({ key: 'p/a', expect: null, put: bytes('0') }, { key: 'p/b', expect: null, put: bytes('0') });
    let done = false;
    const write = async (writer: Client): Promise<void> => {
      for (const _ of times(50)) await incrementBoth(writer);
    };
    const read = async (): Promise<void> => {
      while (!done) {
        const [a, b] = await client.list('p');
        assert.equal(text(a), text(b), 'half a swap was seen');
      }
    };
    await Promise.all([Promise.all(clients.map(write)).finally(() => (done = true)), read()]);
  }),

  define('8 clients that add 25 each lose no update', async (client, harness) => {
    await client.create('counter', '0');
    const clients = await connectMany(harness, 8);
    const addTwentyFive = async (own: Client): Promise<void> => {
      for (const _ of times(25)) await increment(own, 'counter');
    };
    await Promise.all(clients.map(addTwentyFive));
    assert.equal(text(await client.get('counter')), '200');
  }),
];

async function incrementBoth(client: Client): Promise<void> {
  const [a, b] = await client.list('p');
  assert.ok(a !== undefined && b !== undefined);
  const put = bytes(String(Number(text(a)) + 1));
  await client.swap({ key: 'p/a', expect: a.revision, put }, { key: 'p/b', expect: b.revision, put });
}
