/** What becomes of a lease when its process dies, or only stops. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Entry, Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { nodeCommand, spawnCommand, stateOf, stop } from './commands.ts';
import { Recorder } from './recorder.ts';
import { CALL, LEASE_CALL } from './rig.ts';

const HOLDER = new URL('scripts/holder.ts', import.meta.url);
const PATIENCE_MS = 10_000;
/** Far beyond all patience. */
const LONG_TTL_MS = 3_600_000;

let scratch: Scratch;
let file: string;
let store: Store;

beforeEach(async () => {
  scratch = await makeScratch('death');
  file = join(scratch.path, 'state.db');
  store = await openSqlite({ file });
});
afterEach(async () => {
  await store.close();
  await scratch.remove();
});

async function hold(ttlMs: number, renews = '', outlives = ''): Promise<ScriptProcess> {
  const holder = await spawnScript(HOLDER, { args: [file, 'leader', String(ttlMs), renews, outlives] });
  await holder.waitFor('holds', { withinMs: PATIENCE_MS });
  return holder;
}

/** A watch of the key, which shows that it is there. */
async function watched(): Promise<Recorder<Entry | undefined>> {
  const watch = new Recorder<Entry | undefined>((options) => store.watch('leader', options));
  await until(() => watch.latest !== undefined, { what: 'the key is shown', withinMs: PATIENCE_MS });
  return watch;
}

async function vanishes(watch: Recorder<Entry | undefined>): Promise<bigint> {
  await until(() => watch.latest === undefined, { what: 'the key is gone', withinMs: PATIENCE_MS, everyMs: 1 });
  return process.hrtime.bigint();
}

function countKeys(): unknown {
  const database = new DatabaseSync(file);
  const [count] = Object.values(database.prepare('SELECT count(*) FROM keys').get() ?? {});
  database.close();
  return count;
}

describe('a process that is killed', () => {
  it('loses its keys long before its ttl is over', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const watch = await watched();
    holder.sigkill();
    await vanishes(watch);
    expect(countKeys()).toBe(0);
    expect([watch.states.length, watch.stale]).toEqual([2, []]);
    await watch.stop();
  });

  it('keeps its keys until its ttl is over where it said that they outlive it', async () => {
    await using holder = await hold(2_000, '', 'outlives');
    const watch = await watched();
    const sent = (await holder.waitFor('holds', { withinMs: PATIENCE_MS })).fields['sent'];
    holder.sigkill();
    await holder.exited;
    expect(Number((await vanishes(watch)) - BigInt(String(sent))) / 1e6).toBeGreaterThanOrEqual(2_000);
    await watch.stop();
  });

  it('loses its keys though its parent does not ask what became of it', async () => {
    // The shell becomes a process that has a child, and never asks.
    const script = nodeCommand(HOLDER, [file, 'leader', String(LONG_TTL_MS)]);
    await using parent = await spawnCommand('sh', ['-c', '"$@" & exec sleep 600', 'sh', ...script]);
    const pid = Number((await parent.waitFor('holds', { withinMs: PATIENCE_MS })).fields['pid']);
    const watch = await watched();
    process.kill(pid, 'SIGKILL');
    await vanishes(watch);
    expect(stateOf(pid)).toBe('Z');
    await watch.stop();
  });

  it('and was watched by nobody loses its keys when the next lease is granted', async () => {
    await using holder = await hold(LONG_TTL_MS);
    holder.sigkill();
    await holder.exited;
    expect(countKeys()).toBe(1);
    await store.grantLease(1_000, LEASE_CALL);
    expect(countKeys()).toBe(0);
    expect(await store.read('leader', CALL)).toBeUndefined();
  });

  it('is missed by every one of those who watch, and its keys are taken away once', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const stores = await Promise.all(Array.from({ length: 10 }, () => openSqlite({ file })));
    const watches = stores.map((one) => new Recorder<Entry | undefined>((options) => one.watch('leader', options)));
    await until(() => watches.every(({ latest }) => latest !== undefined), { what: 'all are shown the key', withinMs: PATIENCE_MS });
    holder.sigkill();
    await Promise.all(watches.map(vanishes));
    expect(watches.map(({ states, stale }) => [states.length, stale.length])).toEqual(Array.from(watches, () => [2, 0]));
    await Promise.all([...watches.map((watch) => watch.stop()), ...stores.map((one) => one.close())]);
  });

  it('leaves another’s keys alone', async () => {
    await using holder = await hold(LONG_TTL_MS);
    await using other = await spawnScript(HOLDER, { args: [file, 'other', String(LONG_TTL_MS)] });
    await other.waitFor('holds', { withinMs: PATIENCE_MS });
    const watch = await watched();
    holder.sigkill();
    await vanishes(watch);
    expect(await store.read('other', CALL)).toBeDefined();
    await watch.stop();
  });
});

describe('a process that is stopped', () => {
  it('keeps its keys for its ttl, and to the end of it; when it goes on it finds its lease gone', async () => {
    const ttlMs = 1_500;
    await using holder = await hold(ttlMs, 'renews');
    const watch = await watched();
    await holder.waitFor('renewed', { withinMs: PATIENCE_MS });
    await stop(holder);
    const gone = await vanishes(watch);
    const last = holder.events.findLast(({ event }) => event === 'renewed') ?? expect.unreachable('no renewal');
    expect(Number(gone - BigInt(String(last.fields['sent']))) / 1e6).toBeGreaterThanOrEqual(ttlMs);
    holder.sigcont();
    const lost = await holder.waitFor('lost', { withinMs: PATIENCE_MS });
    expect(lost.fields['code']).toBe('LEASE_EXPIRED');
    await watch.stop();
  });

  it('for less than its ttl loses nothing', async () => {
    await using holder = await hold(LONG_TTL_MS);
    const watch = await watched();
    await stop(holder);
    for (let grant = 0; grant < 20; grant += 1) await store.grantLease(1_000, LEASE_CALL);
    holder.sigcont();
    for (let grant = 0; grant < 20; grant += 1) await store.grantLease(1_000, LEASE_CALL);
    expect([watch.states.length, watch.stale]).toEqual([1, []]);
    await watch.stop();
  });
});
