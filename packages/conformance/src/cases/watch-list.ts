import assert from 'node:assert/strict';
import type { Entry } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { bytes, connect, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { expiry } from '../expect.ts';
import { times, together } from '../combinations.ts';
import { sleep } from '../time.ts';

const define = casesOf('watch');

const names = (entries: readonly Entry[]): string => entries.map((entry) => entry.name).join(' ');

export const watchListCases: readonly StoreCase[] = [
  define('list: the first state is what is there now, as listed', async (client, { slackMs }) => {
    const empty = client.watchList('q');
    await empty.says(1, slackMs);
    assert.deepEqual(empty.states, [[]]);
    await empty.stop(slackMs);
    const lease = await client.longLease();
    for (const name of ['c', 'a', 'b']) await client.enqueue('q', name, lease, `value of ${name}`);
    const full = client.watchList('q');
    await full.says(1, slackMs);
    assert.deepEqual(full.latest, await client.list('q'));
    await full.stop(slackMs);
  }),

  define(
    'list: the first state is no older than the watch, though another watch of the prefix may have an older one',
    async (client, harness) => {
      const other = await connect(harness);
      const lease = await client.longLease();
      const kept = other.watchList('q');
      await kept.says(1, harness.slackMs);
      for (const i of times(20)) {
        await client.enqueue('q', `e${i}`, lease);
        const watch = other.watchList('q');
        await watch.says(1, harness.slackMs);
        assert.equal(watch.states[0]?.at(-1)?.name, `e${i}`);
        await watch.stop(harness.slackMs);
      }
      await kept.stop(harness.slackMs);
    },
    { needs: ['linearizable'] },
  ),

  define('list: shows what is added, changed and removed, in the order of creation', async (client, harness) => {
    const { slackMs } = harness;
    const watch = (await connect(harness)).watchList('q');
    const lease = await client.longLease();
    const first = await client.enqueue('q', 'z', lease);
    await watch.sees((entries) => names(entries) === 'z', 'z', slackMs);
    await client.enqueue('q', 'm', lease);
    await client.create('q/a', 'swapped');
    await watch.sees((entries) => names(entries) === 'z m a', 'z m a', slackMs);
    const revision = await client.put(first.key, first.revision, 'changed');
    await watch.sees((entries) => names(entries) === 'z m a' && text(entries[0]) === 'changed', 'the change, in place', slackMs);
    await client.remove(first.key, revision);
    await watch.sees((entries) => names(entries) === 'm a', 'm a', slackMs);
    await client.enqueue('q', 'z', lease);
    await watch.sees((entries) => names(entries) === 'm a z', 'm a z', slackMs);
    assert.deepEqual(watch.latest, await client.list('q'));
    await watch.stop(slackMs);
  }),

  define('list: all keys of a lease go in one step: revoked, and expired', async (client, harness) => {
    const watcher = await connect(harness);
    const revoked = await client.longLease();
    for (const i of times(5)) await client.create(`revoked/k${i}`, 'one', revoked);
    const first = watcher.watchList('revoked');
    await first.says(1, harness.slackMs);
    // The last one, because it must not expire before the watch of its keys has begun.
    const expired = await client.shortLease();
    for (const i of times(5)) await client.create(`expired/k${i}`, 'one', expired);
    const second = watcher.watchList('expired');
    await second.says(1, harness.slackMs);
    await client.revoke(revoked);
    await first.sees((entries) => entries.length === 0, 'nothing', harness.slackMs);
    await expiry(client, harness, 'expired/k0', expired);
    for (const watch of [first, second]) {
      await watch.sees((entries) => entries.length === 0, 'nothing', harness.slackMs);
      assert.deepEqual([...new Set(watch.states.map((entries) => entries.length))], [5, 0]);
      await watch.stop(harness.slackMs);
    }
  }),

  define('list: shows a swap of several keys whole, or not yet', async (client, harness) => {
    const watch = (await connect(harness)).watchList('q');
    await watch.says(1, harness.slackMs);
    for (const i of times(20)) {
      const expect = (await client.list('q')).map((entry) => entry.revision);
      await client.swap(...['q/a', 'q/b', 'q/c'].map((key, at) => ({ key, expect: expect[at] ?? null, put: bytes(`${i}`) })));
    }
    await watch.sees((entries) => entries.length === 3 && text(entries[2]) === '19', 'the last swap', harness.slackMs);
    for (const entries of watch.states) assert.equal(new Set(entries.map(text)).size, Math.min(entries.length, 1), 'half a swap was shown');
    await watch.stop(harness.slackMs);
  }),

  define('list: after 100 quick changes it shows what is listed', async (client, harness) => {
    const watch = (await connect(harness)).watchList('q');
    const lease = await client.longLease();
    for (const i of times(100)) {
      const entry = await client.enqueue('q', `e${i}`, lease);
      if (i % 3 !== 0) await client.remove(entry.key, entry.revision);
    }
    const listed = await client.list('q');
    await watch.sees((entries) => names(entries) === names(listed), 'what is listed', harness.slackMs);
    assert.deepEqual(watch.latest, listed);
    await watch.stop(harness.slackMs);
  }),

  define('list: begun while its keys change, it misses nothing', async (client, harness) => {
    const other = await connect(harness);
    const round = async (i: number): Promise<void> => {
      const added = client.create(`q${i}/a`, 'one');
      const watch = other.watchList(`q${i}`);
      await added;
      await watch.sees((entries) => entries.length === 1, 'the key', harness.slackMs);
      await watch.stop(harness.slackMs);
    };
    await together(times(100), 10, round);
  }),

  define('list: is about one prefix alone, at any depth', async (client, { clock, slackMs }) => {
    const watch = client.watchList('a');
    await watch.says(1, slackMs);
    for (const key of ['ab/x', 'b/a/x', 'a.b']) await client.create(key, 'other');
    await client.create('a/b/c', 'mine');
    await watch.sees((entries) => names(entries) === 'c', 'its own', slackMs);
    await sleep(clock, slackMs / 4);
    assert.ok(watch.states.every((entries) => entries.every((entry) => entry.key.startsWith('a/'))));
    await watch.stop(slackMs);
  }),

  define('list: a slow consumer gets the latest state, not the backlog', async (client, { clock, slackMs }) => {
    const gate = Promise.withResolvers<void>();
    const watch = client.watchList('q', { pause: () => gate.promise });
    await watch.says(1, slackMs);
    const lease = await client.longLease();
    for (const i of times(20)) await client.enqueue('q', `e${i}`, lease);
    await sleep(clock, slackMs / 2);
    gate.resolve();
    await watch.sees((entries) => entries.length === 20, 'all 20', slackMs);
    assert.deepEqual(
      watch.states
        .slice(1)
        .map((entries) => entries.length)
        .filter((length) => length !== 20),
      [],
    );
    await watch.stop(slackMs);
  }),
];
