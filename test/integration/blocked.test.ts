/**
 * Processes whose event loop is blocked, with `renewIn: 'worker'`: a worker thread keeps their
 * leases, up to a limit, and as long as it works.
 */

import { makeScratch, requireStore, type Scratch, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  BLOCKED_TTL_MS as TTL_MS,
  type BlockedLeader,
  type BlockedPlace,
  type BlockedSettings,
  openPlace,
  startBlocked,
  startRival,
  WORKER_STORES,
} from './checks/blocked-leader.ts';

const DEADLINE_MS = 60_000;
const ELECTION = 'blocked';

let scratch: Scratch;
beforeAll(async () => {
  scratch = await makeScratch('blocked-faults');
});
afterAll(async () => scratch.remove());

interface Both extends AsyncDisposable {
  readonly leader: BlockedLeader;
  readonly waiting: ScriptProcess;
}

/** A leader whose worker is ready, and a candidate that waits behind it. */
async function startBoth(place: BlockedPlace, settings: Pick<BlockedSettings, 'blockMs' | 'maxBlockedMs' | 'endsWorker'>): Promise<Both> {
  const url = place.freshUrl();
  const memberId = `a${(members += 1)}`;
  const leader = await startBlocked({ url, memberId, election: ELECTION, renewIn: 'worker', ...settings }, scratch.path);
  const waiting = await startRival(url, [ELECTION]);
  return { leader, waiting, [Symbol.asyncDispose]: () => endAll([leader.script, waiting]) };
}

let members = 0;

/** The fields of an event that the process emits. */
async function occurs(script: ScriptProcess, event: string): Promise<ScriptEvent['fields']> {
  return (await script.waitFor(event, { withinMs: DEADLINE_MS })).fields;
}

const isAvailable = await Promise.all(WORKER_STORES.map(async (store) => store === 'sqlite' || requireStore({ store, own: true })));

describe.concurrent('a leader whose event loop is blocked', { timeout: 180_000 }, () => {
  for (const [at, store] of WORKER_STORES.entries()) {
    describe.runIf(isAvailable[at])(`on ${store}`, () => {
      it('still leads after one and a half ttl', async () => {
        await using place = await openPlace(store);
        await using both = await startBoth(place, { blockMs: 1.5 * TTL_MS });
        const { leader, waiting } = both;
        const { term } = await occurs(leader.script, 'elected');
        leader.script.sigusr2();
        expect(await occurs(leader.script, 'unblocked')).toEqual({ valid: true, term });
        expect(namesOf(waiting)).not.toContain('elected');
        leader.script.sigterm();
        expect(Number((await occurs(waiting, 'elected'))['term'])).toBeGreaterThan(Number(term));
        expect(await occurs(leader.script, 'ended')).toEqual({ term, reason: 'memberClosed' });
      });
    });
  }

  it('no longer leads after more than maxBlockedMs and a ttl', async () => {
    await using place = await openPlace('sqlite');
    await using both = await startBoth(place, { blockMs: 4.5 * TTL_MS, maxBlockedMs: TTL_MS });
    await losesWhileBlocked(both);
  });

  it('no longer leads after a ttl if its worker was terminated before the block', async () => {
    await using place = await openPlace('sqlite');
    await using both = await startBoth(place, { blockMs: 2.5 * TTL_MS, endsWorker: true });
    await losesWhileBlocked(both);
    await hasWorkerAgain(both);
  });

  it('no longer leads a ttl after its worker has thrown', async () => {
    await using place = await openPlace('sqlite');
    await using both = await startBoth(place, { blockMs: 4 * TTL_MS, maxBlockedMs: 10 * TTL_MS });
    await losesWhileBlocked(both, () => both.leader.failWorker('throw'));
    await hasWorkerAgain(both);
  });

  it('no longer leads after a ttl if its worker stands still, and the worker does not bring the lease back', async () => {
    await using place = await openPlace('sqlite');
    await using both = await startBoth(place, { blockMs: 4 * TTL_MS, maxBlockedMs: 10 * TTL_MS });
    await losesWhileBlocked(both, () => both.leader.failWorker('pause', 2.5 * TTL_MS));
  });
});

/**
 * The candidate leads while the leader is blocked, and the leader knows it right after the block.
 */
async function losesWhileBlocked({ leader: { script }, waiting }: Both, fault: () => void = () => {}): Promise<void> {
  script.sigusr2();
  fault();
  expect(await occurs(waiting, 'elected')).toMatchObject({ term: '2' });
  expect(namesOf(script)).not.toContain('unblocked');
  expect(await occurs(script, 'unblocked')).toEqual({ valid: false, term: '1' });
}

async function hasWorkerAgain({ leader: { script } }: Both): Promise<void> {
  await occurs(script, 'renewerLost');
  const from = script.events.findLastIndex(({ event }) => event === 'renewerLost');
  await script.waitFor('renewerReady', { withinMs: DEADLINE_MS, from });
}

function namesOf({ events }: ScriptProcess): readonly string[] {
  return events.map(({ event }) => event);
}

async function endAll(scripts: readonly ScriptProcess[]): Promise<void> {
  await Promise.all(scripts.map((script) => script[Symbol.asyncDispose]()));
}
