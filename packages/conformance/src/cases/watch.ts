import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { connect, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import { expiry } from '../expect.ts';
import type { StoreHarness } from '../harness.ts';
import { times, together } from '../combinations.ts';
import { sleep } from '../time.ts';

const define = casesOf('watch');

/**
 * Checks that a key that is written `0`, `1`, `2`, … never shows an older value after a newer one.
 */
function assertNeverBack(values: readonly (string | undefined)[]): void {
  let latest = -1;
  for (const value of values) {
    if (value === undefined) continue;
    assert.ok(Number(value) >= latest, `${value} was shown after ${latest}`);
    latest = Number(value);
  }
}

/** The case of watches that begin after a change, alone or beside a watch that stays open. */
function firstStateCase(name: string, place: 'alone' | 'beside another'): StoreCase {
  const body = async (client: Client, harness: StoreHarness): Promise<void> => {
    const other = await connect(harness);
    let revision = await client.create('a', '0');
    const kept = place === 'alone' ? [] : [other.watch('a')];
    for (const each of kept) await each.says(1, harness.slackMs);
    for (const i of times(20)) {
      revision = await client.put('a', revision, `${i}`);
      const watch = other.watch('a');
      await watch.says(1, harness.slackMs);
      assert.equal(text(watch.states[0]), `${i}`);
      await watch.stop(harness.slackMs);
    }
    for (const each of kept) await each.stop(harness.slackMs);
  };
  return define(name, body, { needs: ['linearizable'] });
}

export const watchCases: readonly StoreCase[] = [
  define('the first state is the one that is there now: none', async (client, { slackMs }) => {
    const watch = client.watch('a');
    await watch.says(1, slackMs);
    assert.deepEqual(watch.states, [undefined]);
    await watch.stop(slackMs);
  }),

  define('the first state is the one that is there now: an entry, as read', async (client, { slackMs }) => {
    await client.create('a/b', 'one', await client.longLease());
    const watch = client.watch('a/b');
    await watch.says(1, slackMs);
    assert.deepEqual(watch.latest, await client.get('a/b'));
    await watch.stop(slackMs);
  }),

  firstStateCase('the first state is no older than the watch', 'alone'),

  firstStateCase('the first state is no older than the watch, though another watch of the key may have an older one', 'beside another'),

  define('shows creation, change, deletion and creation anew', async (client, harness) => {
    const { slackMs } = harness;
    const watch = (await connect(harness)).watch('a');
    await watch.sees((entry) => entry === undefined, 'no key', slackMs);
    const first = await client.create('a', 'one');
    await watch.sees((entry) => text(entry) === 'one', 'the creation', slackMs);
    const second = await client.put('a', first, 'two');
    await watch.sees((entry) => text(entry) === 'two' && entry?.revision === second, 'the change', slackMs);
    await client.remove('a', second);
    await watch.sees((entry) => entry === undefined, 'the deletion', slackMs);
    await client.create('a', 'three');
    await watch.sees((entry) => text(entry) === 'three', 'the creation anew', slackMs);
    await watch.stop(slackMs);
  }),

  define(
    'shows presence alone, if no more is asked: creation, change, deletion, and a queue entry that goes with its lease',
    async (client, harness) => {
      const { slackMs } = harness;
      const other = await connect(harness);
      const watch = other.watchPresence('a/b');
      await watch.sees((entry) => entry === undefined, 'no key', slackMs);
      const first = await client.create('a/b', 'one');
      await watch.sees((entry) => entry?.key === 'a/b' && entry.name === 'b', 'the creation', slackMs);
      const second = await client.put('a/b', first, 'two');
      await watch.sees((entry) => entry !== undefined, 'the key', slackMs);
      await client.remove('a/b', second);
      await watch.sees((entry) => entry === undefined, 'the deletion', slackMs);
      await watch.stop(slackMs);
      const lease = await client.longLease();
      const { key, name } = await client.enqueue('q', 'me', lease);
      const entry = other.watchPresence(key);
      await entry.sees((state) => state?.key === key && state.name === name, 'the entry', slackMs);
      await client.revoke(lease);
      await entry.sees((state) => state === undefined, 'its end', slackMs);
      await entry.stop(slackMs);
    },
  ),

  define('begun with a known revision, it shows what has changed since then: a change, and a deletion', async (client, harness) => {
    const { slackMs } = harness;
    const other = await connect(harness);
    const first = await client.create('a', 'one');
    const known = await client.get('a');
    const second = await client.put('a', first, 'two');
    const changed = other.watchSince(known);
    await changed.sees((entry) => entry?.revision === second && text(entry) === 'two', 'the change', slackMs);
    await client.remove('a', second);
    await changed.sees((entry) => entry === undefined, 'the deletion', slackMs);
    const deleted = other.watchSince(known);
    await deleted.sees((entry) => entry === undefined, 'the deletion before the watch', slackMs);
    await client.create('a', 'three');
    await deleted.sees((entry) => text(entry) === 'three', 'the creation anew', slackMs);
    await changed.stop(slackMs);
    await deleted.stop(slackMs);
  }),

  define('deletion and creation at once show the new key', async (client, { slackMs }) => {
    const watch = client.watch('a');
    for (const i of times(30)) await client.remove('a', await client.create('a', `${i}`));
    const revision = await client.create('a', 'last');
    await watch.sees((entry) => entry?.revision === revision && text(entry) === 'last', 'the last one made', slackMs);
    await watch.stop(slackMs);
  }),

  define('of 100 quick changes the last is shown, and none is shown after a later one', async (client, harness) => {
    const watch = (await connect(harness)).watch('a');
    let revision = await client.create('a', '0');
    for (const i of times(100)) revision = await client.put('a', revision, `${i}`);
    await watch.sees((entry) => entry?.revision === revision, 'the last change', harness.slackMs);
    assertNeverBack(watch.states.map(text));
    await watch.stop(harness.slackMs);
  }),

  define('begun while its key changes, it misses nothing: no gap between the first state and the next', async (client, harness) => {
    const other = await connect(harness);
    const round = async (i: number): Promise<void> => {
      const key = `k${i}`;
      const first = await client.create(key, 'first');
      const [watch, revision] = [other.watch(key), await client.put(key, first, 'second')];
      await watch.sees((entry) => entry?.revision === revision, 'the change', harness.slackMs);
      await watch.stop(harness.slackMs);
    };
    await together(times(100), 10, round);
  }),

  define('shows that a key went with its lease: revoked, and expired', async (client, harness) => {
    const watcher = await connect(harness);
    const [revoked, expired] = [await client.longLease(), await client.shortLease()];
    await client.create('revoked', 'one', revoked);
    await client.create('expired', 'one', expired);
    const watches = [watcher.watch('revoked'), watcher.watch('expired')];
    for (const watch of watches) await watch.sees((entry) => entry !== undefined, 'the key', harness.slackMs);
    await client.revoke(revoked);
    await watches[0]?.sees((entry) => entry === undefined, 'that the key is gone', harness.slackMs);
    await expiry(client, harness, 'expired', expired);
    for (const watch of watches) await watch.sees((entry) => entry === undefined, 'that the key is gone', harness.slackMs);
    for (const watch of watches) await watch.stop(harness.slackMs);
  }),

  define('is about one key alone', async (client, { clock, slackMs }) => {
    await client.create('a', 'one');
    const watch = client.watch('a');
    await watch.says(1, slackMs);
    for (const key of ['ab', 'b', 'b/a', 'A']) await client.create(key, 'other');
    await sleep(clock, slackMs / 4);
    assert.ok(watch.states.every((entry) => text(entry) === 'one'));
    await watch.stop(slackMs);
  }),

  define(
    'two watches of one key are two: each shows everything, and the end of one is not the end of the other',
    async (client, { slackMs }) => {
      const [first, second] = [client.watch('a'), client.watch('a')];
      const revision = await client.create('a', 'one');
      for (const watch of [first, second]) await watch.sees((entry) => text(entry) === 'one', 'the creation', slackMs);
      await first.stop(slackMs);
      await client.put('a', revision, 'two');
      await second.sees((entry) => text(entry) === 'two', 'the change', slackMs);
      assert.equal(text(first.latest), 'one');
      await second.stop(slackMs);
    },
  ),

  define('300 watches of one client each show their own key', async (client, { slackMs }) => {
    const watches = times(300).map((i) => client.watch(`many/k${i}`));
    await Promise.all(watches.map((watch) => watch.says(1, slackMs * 2)));
    for (const i of times(300)) if (i % 3 === 0) await client.create(`many/k${i}`, `${i}`);
    for (const [i, watch] of watches.entries()) {
      const expected = i % 3 === 0 ? `${i}` : undefined;
      await watch.sees((entry) => text(entry) === expected, `its own key, k${i}`, slackMs);
    }
    await Promise.all(watches.map((watch) => watch.stop(slackMs)));
  }),

  define('a slow consumer gets the latest state, not the backlog', async (client, { clock, slackMs }) => {
    const gate = Promise.withResolvers<void>();
    let revision = await client.create('a', 'first');
    const watch = client.watch('a', { pause: () => gate.promise });
    await watch.says(1, slackMs);
    for (const i of times(50)) revision = await client.put('a', revision, `${i}`);
    // Wait for what is still on its way.
    await sleep(clock, slackMs / 2);
    gate.resolve();
    await watch.sees((entry) => entry?.revision === revision, 'the last change', slackMs);
    assert.ok(
      watch.states.slice(1).every((entry) => text(entry) === '49'),
      `states of the past: ${watch.states.map(text).join(', ')}`,
    );
    await watch.stop(slackMs);
  }),
];
