/** `lead`, `tryLead` and `withLock` on real stores, and in a process that is asked to stop. */

import { join } from 'node:path';

import { makeScratch, requireStore, spawnScript, startRedis, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { lead, Member, openStore, withLock, type Lock } from '../src/index.ts';

const PROGRAM = new URL('leads-in-one-line.ts', import.meta.url);
const WITHIN_MS = 30_000;

type Weak = { readonly acceptWeakStore?: string };

/** Tries in vain while `lead` leads, and in earnest afterwards. */
async function checkOneLine(url: string, weak: Weak): Promise<void> {
  const seen: unknown[] = [];
  const before = await lead(
    url,
    'cron',
    async ({ term }) => {
      await using store = await openStore(url);
      await using member = new Member(store);
      seen.push(await member.election('cron', weak).tryLead(() => 'led'));
      return term;
    },
    weak,
  );
  expect(seen).toEqual([undefined]);
  await using store = await openStore(url);
  await using member = new Member(store);
  expect(await member.election('cron', weak).tryLead((leadership) => leadership.term)).toBeGreaterThan(before ?? 0n);
}

/** Several calls of one process hold one lock, one after the other, with rising terms. */
async function checkLock(url: string, weak: Weak): Promise<void> {
  await using store = await openStore(url);
  let inside = 0;
  const terms: bigint[] = [];
  const work = async (lock: Lock): Promise<void> => {
    inside += 1;
    expect([inside, lock.isValid(), lock.signal.aborted]).toEqual([1, true, false]);
    terms.push(lock.term);
    // Gives the others time to come in, if the lock does not hold.
    await store.read('app/anything', { timeoutMs: 5_000 });
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 5 }, () => withLock(store, 'orders', work, weak)));
  expect(terms).toHaveLength(5);
  expect(terms).toEqual([...new Set(terms)].toSorted((a, b) => Number(a - b)));
}

describe('on SQLite', () => {
  async function withFile(test: (url: string) => Promise<void>): Promise<void> {
    const scratch = await makeScratch('one-line');
    try {
      await test(`sqlite:${join(scratch.path, 'state.db')}`);
    } finally {
      await scratch.remove();
    }
  }

  it('lead and tryLead lead one at a time', () => withFile((url) => checkOneLine(url, {})));

  it('withLock lets one in at a time', () => withFile((url) => checkLock(url, {})));

  it('a program of one line hands over and ends by itself at SIGTERM', () =>
    withFile(async (url) => {
      await using first = await spawnScript(PROGRAM, { args: [url] });
      await first.waitFor('leads', { withinMs: WITHIN_MS });
      await using second = await spawnScript(PROGRAM, { args: [url] });
      await using store = await openStore(url);
      const candidates = async (): Promise<number> => (await store.list('elections/cron/candidates', { timeoutMs: 5_000 })).length;
      await until(async () => (await candidates()) === 2, { what: 'the second program waits' });
      first.sigterm();
      expect(await first.exited).toBe(0);
      expect(first.events.map(({ event, fields }) => [event, fields['reason'] ?? fields['result']])).toEqual([
        ['leads', undefined],
        ['ended', 'memberClosed'],
        ['done', 'undefined'],
      ]);
      await second.waitFor('leads', { withinMs: WITHIN_MS });
      second.sigterm();
      expect(await second.exited).toBe(0);
    }));
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('on Redis', () => {
  it('lead, tryLead and withLock lead one at a time, once the weak store is accepted', async () => {
    await using server = await startRedis();
    const weak = { acceptWeakStore: 'redis' };
    const url = (namespace: string): string => `redis://${new URL(server.url).host}/${namespace}`;
    await checkOneLine(url('lead'), weak);
    await checkLock(url('lock'), weak);
    await expect(lead(url('lead'), 'cron', () => {})).rejects.toMatchObject({ code: 'WEAK_STORE' });
  });
});
