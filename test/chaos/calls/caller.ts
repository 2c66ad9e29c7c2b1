/**
 * Makes calls with very short timeouts in a process that is stopped in the middle of them. Each
 * call must settle, and none may reject unhandled, which would end the process. Arguments: the
 * store's URL, the duration in ms, the seed.
 */

import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { isIncumbentError, Member, openStore, type Store } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { randomOf } from '@incumbent/test-support/random';

const [url = '', forMs = '5000', seed = '1'] = process.argv.slice(2);

/** How many calls run at the same time. */
const CROWD = 24;
/** How long after its timeout a call may settle on a busy machine, in ms. */
const GRACE_MS = 20_000;
const TIMES_MS = [1, 1, 2, 3, 5, 8, 15, 40, 300];
const REASON = new Error('given up');

const random = randomOf(Number(seed));
const chance = (odds: number): boolean => random() < odds;
const pick = <T>(some: readonly T[]): T => some[Math.floor(random() * some.length)]!;
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

interface Call {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const leases: string[] = ['none'];
const someKey = (): string => `k/${Math.floor(random() * 5)}`;
const someLease = (): string => pick(leases.slice(-20));
const value = new Uint8Array([1]);
const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });

async function seen(states: (signal: AbortSignal) => AsyncIterable<unknown>): Promise<void> {
  const over = new AbortController();
  setTimeout(() => over.abort(), random() * 60);
  for await (const _ of states(over.signal)) if (chance(0.1)) break;
}

const operations: Readonly<Record<string, (store: Store, call: Call) => Promise<unknown>>> = {
  read: (store, call) => store.read(someKey(), { ...call, fresh: chance(0.5) }),
  list: (store, call) => store.list('k', call),
  first: (store, call) => store.list('q', { ...call, first: 2, values: chance(0.5) }),
  write: async (store, call) => {
    const there = await store.read(someKey(), call);
    if (there !== undefined && chance(0.3)) return store.compareAndSwap([{ key: there.key, expect: there.revision, delete: true }], call);
    return store.compareAndSwap([{ key: there?.key ?? someKey(), expect: there?.revision ?? null, put: value }], call);
  },
  bind: (store, call) => store.compareAndSwap([{ key: `b/${random()}`, expect: null, put: value, lease: someLease() }], call),
  enqueue: (store, call) => store.enqueue('q', `n${random()}`, value, someLease(), call),
  grant: async (store, call) => leases.push((await store.grantLease(2_000, { ...call, timeoutMs: 5 * call.timeoutMs, at: now() })).id),
  renew: (store, call) => store.renewLease(someLease(), { ...call, at: now() }),
  revoke: async (store, call) => chance(0.3) && store.revokeLease(someLease(), call),
  inspect: async (store, call) => store.inspect?.(call),
  watch: (store) => seen((signal) => store.watch(someKey(), { signal, values: chance(0.5) })),
  watchList: (store) => seen((signal) => store.watchList('q', { signal })),
  campaign: async (store, { signal }) => {
    const member = new Member(store, { memberId: `m${random()}`, ttlMs: Math.max(1_000, store.capabilities.minTtlMs) });
    try {
      const ends = AbortSignal.any([AbortSignal.timeout(Math.ceil(random() * 300)), ...(signal === undefined ? [] : [signal])]);
      const leadership = await member.election('e', { acceptWeakStore: 'redis' }).campaign({ signal: ends });
      await (chance(0.5) ? leadership.resign() : leadership.publish(1));
    } finally {
      await member.shutdown();
    }
  },
};

const underWay = new Map<Promise<void>, string>();
const outcomes: Record<string, number> = {};

function count(outcome: string): void {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}

async function settled(operation: string, store: Store): Promise<void> {
  const caller = new AbortController();
  if (chance(0.2)) setTimeout(() => caller.abort(REASON), random() * 10);
  const call = { timeoutMs: pick(TIMES_MS), ...(chance(0.5) ? { signal: caller.signal } : {}) };
  try {
    await operations[operation]!(store, call);
    count('done');
  } catch (error) {
    if (isIncumbentError(error)) count(error.code);
    else if (error === REASON || (error instanceof Error && error.name === 'TimeoutError')) count('given up');
    else emit('odd', { operation, error: String(error) });
  }
}

function begin(store: Store): void {
  // A campaign takes many calls, so it is drawn rarely.
  const operation = chance(0.02) ? 'campaign' : pick(Object.keys(operations).filter((name) => name !== 'campaign'));
  const call = settled(operation, store).finally(() => underWay.delete(call));
  underWay.set(call, operation);
}

/** The link may be down. */
async function opened(): Promise<Store> {
  for (;;) {
    try {
      return await openStore(url);
    } catch (error) {
      if (!isIncumbentError(error)) throw error;
    }
  }
}

async function told(): Promise<void> {
  const unsettled = [...underWay.values()];
  await store.close();
  emit('done', { outcomes, unsettled });
}

process.on('unhandledRejection', (error) => emit('unhandled', { error: String(error), stack: error instanceof Error ? error.stack : '' }));
let store = await opened();
emit('ready');
const until = performance.now() + Number(forMs);
// On a slow machine, chance alone may never close the store.
let closesAt = until - Number(forMs) / 2;
while (performance.now() < until) {
  if (underWay.size < CROWD) begin(store);
  else await turn();
  if (chance(0.15)) standStill(pick([1, 1, 2, 3, 6, 12]));
  if (chance(0.02)) queueMicrotask(() => queueMicrotask(() => standStill(pick([2, 5, 20]))));
  if (chance(0.3)) await turn();
  if (chance(0.05)) await sleep(random() * 4);
  if (chance(0.002) || performance.now() >= closesAt) {
    closesAt = Infinity;
    void store.close().then(() => count('closed'));
    leases.splice(1);
    store = await opened();
  }
}
const grace = setTimeout(() => void told(), GRACE_MS);
await Promise.all(underWay.keys());
clearTimeout(grace);
await told();
