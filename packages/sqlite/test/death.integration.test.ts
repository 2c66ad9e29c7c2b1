/** What happens to a lease when its process dies, or is stopped. */

import { DatabaseSync } from 'node:sqlite';
import type { Entry, Store } from '@incumbent/core';
import { until, type ScriptProcess } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { nodeCommand, spawnCommand, stateOf, stop } from './commands.ts';
import { CALL, LEASE_CALL } from './rig.ts';
import { HOLDER, LONG_TTL_MS, ScratchFile, vanishes, watchLeader, WITHIN_MS } from './scratch-file.ts';

let file: ScratchFile;
let store: Store;

beforeEach(async () => {
  file = await ScratchFile.make('death');
  store = await file.open();
});
afterEach(async () => {
  await file[Symbol.asyncDispose]();
});

function hold(ttlMs: number, ...more: readonly string[]): Promise<ScriptProcess> {
  return file.hold('leader', ttlMs, ...more);
}

function countKeys(): unknown {
  const database = new DatabaseSync(file.path);
  const [count] = Object.values(database.prepare('SELECT count(*) FROM keys').get() ?? {});
  database.close();
  return count;
}

describe('a process that is killed', () => {
  it('loses its keys long before its ttl is over', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const watch = await watchLeader(store);
    holder.sigkill();
    await vanishes(watch);
    expect(countKeys()).toBe(0);
    expect([watch.states.length, watch.stale]).toEqual([2, []]);
    await watch.stop();
  });

  it('keeps its keys for its ttl if its lease was granted to outlive the process', async () => {
    await using holder = await hold(2_000, '', 'outlives');
    const watch = await watchLeader(store);
    const sent = (await holder.waitFor('holds', { withinMs: WITHIN_MS })).fields['sent'];
    holder.sigkill();
    await holder.exited;
    expect(Number((await vanishes(watch)) - BigInt(String(sent))) / 1e6).toBeGreaterThanOrEqual(2_000);
    await watch.stop();
  });

  it('loses its keys although its parent has not collected its exit status', async () => {
    // The shell becomes a process that has a child, and never asks.
    const script = nodeCommand(HOLDER, [file.path, 'leader', String(LONG_TTL_MS)]);
    await using parent = await spawnCommand('sh', ['-c', '"$@" & exec sleep 600', 'sh', ...script]);
    const pid = Number((await parent.waitFor('holds', { withinMs: WITHIN_MS })).fields['pid']);
    const watch = await watchLeader(store);
    process.kill(pid, 'SIGKILL');
    await vanishes(watch);
    expect(stateOf(pid)).toBe('Z');
    await watch.stop();
  });

  it('without being watched loses its keys when the next lease is granted', async () => {
    await using holder = await hold(LONG_TTL_MS);
    holder.sigkill();
    await holder.exited;
    expect(countKeys()).toBe(1);
    await store.grantLease(1_000, LEASE_CALL);
    expect(countKeys()).toBe(0);
    expect(await store.read('leader', CALL)).toBeUndefined();
  });

  it('is noticed by every watching process, and its keys are deleted once', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const stores = await Promise.all(Array.from({ length: 10 }, () => file.open()));
    const watches = stores.map((one) => new Recorder<Entry | undefined>((options) => one.watch('leader', options)));
    await until(() => watches.every(({ latest }) => latest !== undefined), { what: 'all are shown the key', withinMs: WITHIN_MS });
    holder.sigkill();
    await Promise.all(watches.map(vanishes));
    expect(watches.map(({ states, stale }) => [states.length, stale.length])).toEqual(Array.from(watches, () => [2, 0]));
    await Promise.all(watches.map((watch) => watch.stop()));
  });

  it('does not lose the keys of another process', async () => {
    await using holder = await hold(LONG_TTL_MS);
    await using _other = await file.hold('other', LONG_TTL_MS);
    const watch = await watchLeader(store);
    holder.sigkill();
    await vanishes(watch);
    expect(await store.read('other', CALL)).toBeDefined();
    await watch.stop();
  });
});

describe('a process that is stopped', () => {
  it('keeps its keys until the end of its ttl, and finds its lease expired when it resumes', async () => {
    const ttlMs = 1_500;
    await using holder = await hold(ttlMs, 'renews');
    const watch = await watchLeader(store);
    await holder.waitFor('renewed', { withinMs: WITHIN_MS });
    await stop(holder);
    const gone = await vanishes(watch);
    const last = holder.events.findLast(({ event }) => event === 'renewed') ?? expect.unreachable('no renewal');
    expect(Number(gone - BigInt(String(last.fields['sent']))) / 1e6).toBeGreaterThanOrEqual(ttlMs);
    holder.sigcont();
    const lost = await holder.waitFor('lost', { withinMs: WITHIN_MS });
    expect(lost.fields['code']).toBe('LEASE_EXPIRED');
    await watch.stop();
  });

  it('for less than its ttl loses nothing', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const watch = await watchLeader(store);
    await stop(holder);
    for (let grant = 0; grant < 20; grant += 1) await store.grantLease(1_000, LEASE_CALL);
    holder.sigcont();
    for (let grant = 0; grant < 20; grant += 1) await store.grantLease(1_000, LEASE_CALL);
    expect([watch.states.length, watch.stale]).toEqual([1, []]);
    await watch.stop();
  });
});
