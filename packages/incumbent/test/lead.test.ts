import { ManualClock, type MemoryServer, openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { firstComeFirstServed, lead, Member, type Leadership, type LeadUrlOptions, type Store, systemRandom } from '../src/index.ts';
import { warningLogger } from '../src/warnings.ts';

const URL_TEXT = 'memory:one-line';
const NAME = 'cron';
const LEADER = `elections/${NAME}/leader`;
const TTL_MS = 6_000;
/** Signals that the runner of the tests does not listen to. */
const STOP = ['SIGUSR2', 'SIGBREAK'] as const;

let clock: ManualClock;
let server: MemoryServer;
/** A store that keeps the server of the URL open. */
let other: Store;

beforeEach(async () => {
  clock = new ManualClock();
  const store = await openMemory({ name: 'one-line', server: { clock } });
  [server, other] = [store.server, store];
});
afterEach(async () => {
  await other.close();
});

function leading<T>(work: (leadership: Leadership) => Promise<T> | T, options: LeadUrlOptions = {}): Promise<T | undefined> {
  return lead(URL_TEXT, NAME, work, { clock, ttlMs: TTL_MS, stopOn: [...STOP], ...options });
}

async function untilEnded({ ended }: Leadership): Promise<string> {
  await ended;
  return 'stopped';
}

/** Lets time pass until somebody leads. */
async function elected(): Promise<void> {
  for (let i = 0; i < 1_000 && !server.keys().includes(LEADER); i += 1) await clock.advance(1);
  expect(server.keys()).toContain(LEADER);
}

/** Checks that only the other store is open, and that there are no keys but the terms. */
function expectClosed(): void {
  expect({ clients: server.clients, leases: server.leases(), keys: server.keys().filter((key) => !key.endsWith('/term')) }).toEqual({
    clients: 1,
    leases: [],
    keys: [],
  });
  expect(STOP.map((signal) => process.listenerCount(signal))).toEqual([0, 0]);
  expect(clock.holds).toBe(0);
}

describe('lead with a URL', () => {
  it.each([URL_TEXT, new URL(URL_TEXT)])('opens the store %o, runs the work while it leads, and closes everything', async (url) => {
    const work = (leadership: Leadership): readonly unknown[] => [leadership.isValid(), leadership.term, server.clients];
    expect(await clock.run(lead(url, NAME, work, { clock, stopOn: [] }))).toEqual([true, 1n, 2]);
    expectClosed();
  });

  it('waits for its turn', async () => {
    const member = new Member(other, { clock, ttlMs: TTL_MS });
    const leadership = await clock.run(member.election(NAME).campaign());
    const second = leading(({ term }) => term);
    await clock.advance(2 * TTL_MS);
    await clock.run(leadership.resign());
    expect(await clock.run(second)).toBe(2n);
    await clock.run(member.close());
    expectClosed();
  });

  it('rejects as the work does, and closes everything', async () => {
    const failure = new Error('the work failed');
    await expect(clock.run(leading(() => Promise.reject(failure)))).rejects.toBe(failure);
    expectClosed();
  });

  it.each(['before it opens the store', 'while it leads', 'while it waits'])(
    'rejects when its signal aborts %s, and closes everything',
    async (when) => {
      const caller = new AbortController();
      const rival = new Member(other, { clock, ttlMs: TTL_MS });
      if (when === 'while it waits') await clock.run(rival.election(NAME).campaign());
      if (when === 'before it opens the store') caller.abort(new Error('enough'));
      const aborted = leading(untilEnded, { signal: caller.signal });
      aborted.catch(() => {});
      if (when !== 'before it opens the store') await elected();
      await clock.advance(100);
      caller.abort(new Error('enough'));
      await expect(clock.run(aborted)).rejects.toThrow('enough');
      await clock.run(rival.close());
      expectClosed();
    },
  );

  it('hands over and resolves with undefined at a stop signal, and closes everything', async () => {
    const done = leading(untilEnded);
    await elected();
    const rival = new Member(other, { clock, ttlMs: TTL_MS });
    const next = rival.election(NAME).campaign();
    await clock.advance(100);
    process.emit(STOP[0], STOP[0]);
    expect(await clock.run(done)).toBeUndefined();
    expect((await clock.run(next)).term).toBe(2n);
    await clock.run(rival.close());
    await clock.advance(500);
    expectClosed();
  });

  it.each([
    [undefined, [1, 1]],
    [[], [0, 0]],
  ] as const)('with stopOn: %j listens to SIGTERM and SIGINT: %j', async (stopOn, added) => {
    const signals = ['SIGTERM', 'SIGINT'] as const;
    const before = signals.map((signal) => process.listenerCount(signal));
    const during = (): readonly number[] => signals.map((signal, i) => process.listenerCount(signal) - (before[i] ?? 0));
    expect(await clock.run(lead(URL_TEXT, NAME, during, { clock, ...(stopOn === undefined ? {} : { stopOn }) }))).toEqual(added);
    expect(during()).toEqual([0, 0]);
  });

  it('passes each option to the constructor or call that accepts it', async () => {
    const ends: unknown[] = [];
    const all: Required<Omit<LeadUrlOptions<number>, 'codec' | 'acceptWeakStore' | 'retry' | 'reaper' | 'maxBlockedMs'>> = {
      waitMs: 5,
      onRetry: () => {},
      signal: new AbortController().signal,
      once: true,
      stopOn: [],
      value: 7,
      succession: firstComeFirstServed(),
      minTerm: 5n,
      onElected: ({ term }) => ends.push(term),
      onEnded: ({ reason }) => ends.push(reason),
      parse: Number,
      memberId: 'one',
      onDuplicate: 'refuse',
      host: 'web-1',
      rebalanceEveryMs: 1_000,
      renewIn: 'eventLoop',
      logger: warningLogger,
      clock,
      random: systemRandom,
      ttlMs: TTL_MS,
      renewEveryMs: 1_000,
      retryEveryMs: 100,
      callTimeoutMs: 900,
      drainMs: 500,
      clockErrorRatio: 0.01,
      successorClaimTimeoutMs: 1_000,
    };
    const record = async (): Promise<unknown> => {
      const entry = await other.read(LEADER, { timeoutMs: 1_000 });
      return JSON.parse(new TextDecoder().decode(entry?.value));
    };
    expect(await clock.run(lead(URL_TEXT, NAME, record, all))).toMatchObject({ memberId: 'one', term: '5', value: 7 });
    expect(ends).toEqual([5n, 'resigned']);
    const refused: Promise<unknown> = Reflect.apply(lead, undefined, [URL_TEXT, NAME, record, { ...all, acceptWeakStore: true }]);
    await expect(clock.run(refused)).rejects.toThrow(/acceptWeakStore is .* it must be the name of a store/);
    expectClosed();
  });

  it('says what to do with a store that is open, and refuses a function that opens something else', async () => {
    const open: Promise<unknown> = Reflect.apply(lead, undefined, [other, NAME, () => {}]);
    await expect(open).rejects.toThrow(/^url is an open store: .*call new Member\(store\)\.election\(name\)\.lead\(work\)$/);
    const wrong: Promise<unknown> = Reflect.apply(lead, undefined, [async () => 'memory:', NAME, () => {}]);
    await expect(wrong).rejects.toThrow('store is a string of 7 characters: it must be an open store');
    expectClosed();
  });

  it.each([
    ['no function', URL_TEXT, 5, {}],
    ['no URL', 5, () => {}, {}],
    ['an unknown option', URL_TEXT, () => {}, { ttl: 5 }],
    ['a wrong duration', URL_TEXT, () => {}, { ttlMs: 5 }],
    ['a wrong signal', URL_TEXT, () => {}, { signal: 5 }],
    ['a signal alone', URL_TEXT, () => {}, { stopOn: 'SIGTERM' }],
    ['the name of no signal', URL_TEXT, () => {}, { stopOn: ['sigterm'] }],
  ])('refuses %s, and closes everything', async (_, url, work, options) => {
    const refused: Promise<unknown> = Reflect.apply(lead, undefined, [url, NAME, work, options]);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expectClosed();
  });
});
