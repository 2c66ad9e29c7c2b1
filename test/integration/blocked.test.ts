/**
 * Processes whose event loop is blocked, with `renewIn: 'worker'`: a worker thread keeps their
 * leases, up to a limit.
 */

import {
  makeScratch,
  requireStore,
  spawnScript,
  startEtcd,
  startPostgres,
  startRedis,
  type ScriptEvent,
  type ScriptProcess,
} from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { freshNamespace, storeUrl } from './checks/pair.ts';

const BLOCKED = new URL('./blocked.ts', import.meta.url);
const TTL_MS = 10_000;
const DEADLINE_MS = 60_000;

interface Place extends AsyncDisposable {
  readonly url: string;
}

type Kind = 'etcd' | 'redis' | 'postgres' | 'sqlite';

async function placeOf(kind: Kind): Promise<Place> {
  if (kind === 'sqlite') {
    const folder = await makeScratch('blocked');
    return { url: `sqlite:${folder.path}/state.db`, [Symbol.asyncDispose]: () => folder.remove() };
  }
  const server = await { etcd: startEtcd, redis: startRedis, postgres: startPostgres }[kind]();
  return { url: storeUrl([server.url], freshNamespace(), kind), [Symbol.asyncDispose]: () => server.stop() };
}

interface Setup {
  readonly id: string;
  readonly blockMs?: number;
  readonly maxBlockedMs?: number;
}

async function start({ url }: Place, { id, blockMs = 0, maxBlockedMs = 3 * TTL_MS }: Setup): Promise<ScriptProcess> {
  return spawnScript(BLOCKED, { args: [url, id, String(TTL_MS), 'worker', String(maxBlockedMs), String(blockMs)] });
}

/** A leader whose worker is ready, and a candidate that waits behind it. */
async function startBoth(place: Place, setup: Omit<Setup, 'id'>): Promise<readonly [leader: ScriptProcess, waiting: ScriptProcess]> {
  const leader = await start(place, { id: 'a', ...setup });
  await Promise.all([occurs(leader, 'elected'), occurs(leader, 'renewerReady')]);
  const waiting = await start(place, { id: 'b' });
  await occurs(waiting, 'waiting');
  return [leader, waiting];
}

/** The fields of an event that the process emits. */
async function occurs(script: ScriptProcess, event: string): Promise<ScriptEvent['fields']> {
  return (await script.waitFor(event, { withinMs: DEADLINE_MS })).fields;
}

const kinds: readonly Kind[] = ['etcd', 'redis', 'postgres', 'sqlite'];
const isAvailable = await Promise.all(kinds.map(async (kind) => kind === 'sqlite' || requireStore({ store: kind, own: true })));

describe.concurrent('a leader whose event loop is blocked', { timeout: 180_000 }, () => {
  for (const [at, kind] of kinds.entries()) {
    describe.runIf(isAvailable[at])(`on ${kind}`, () => {
      it('still leads after one and a half ttl', async () => {
        await using place = await placeOf(kind);
        const [leader, waiting] = await startBoth(place, { blockMs: 1.5 * TTL_MS });
        await using _both = { [Symbol.asyncDispose]: () => endAll([leader, waiting]) };
        const { term } = await occurs(leader, 'elected');
        leader.sigusr2();
        expect(await occurs(leader, 'unblocked')).toEqual({ valid: true, term });
        expect(namesOf(waiting)).not.toContain('elected');
        leader.sigterm();
        expect(Number((await occurs(waiting, 'elected'))['term'])).toBeGreaterThan(Number(term));
        expect(await occurs(leader, 'ended')).toEqual({ term, reason: 'memberClosed' });
      });
    });
  }

  it('no longer leads after more than maxBlockedMs and a ttl', async () => {
    await using place = await placeOf('sqlite');
    const [leader, waiting] = await startBoth(place, { blockMs: 4.5 * TTL_MS, maxBlockedMs: TTL_MS });
    await using _both = { [Symbol.asyncDispose]: () => endAll([leader, waiting]) };
    leader.sigusr2();
    expect(await occurs(waiting, 'elected')).toEqual({ term: '2' });
    expect(namesOf(leader)).not.toContain('unblocked');
    expect(await occurs(leader, 'unblocked')).toEqual({ valid: false, term: '1' });
  });
});

function namesOf({ events }: ScriptProcess): readonly string[] {
  return events.map(({ event }) => event);
}

async function endAll(scripts: readonly ScriptProcess[]): Promise<void> {
  await Promise.all(scripts.map((script) => script[Symbol.asyncDispose]()));
}
