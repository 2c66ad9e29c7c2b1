import type { LeaseId } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { LeaseObserver, ObservedLease, type ObservedStore, type LeaseView } from '@incumbent/network';

const TTL_MS = 1_000;

/** A store that ends no leases: each is an object with a version. */
class FakeStore implements ObservedStore {
  readonly leases = new Map<LeaseId, LeaseView>();
  readonly deleted: LeaseId[] = [];
  readonly wanted = new Set<LeaseId>();
  looks = 0;
  /** What happens between the last look and the conditional deletion. */
  beforeEnd: () => void = () => {};
  fails = false;
  onDeleteKeys: (lease: LeaseId) => Promise<void> = async () => {};
  #answer: Promise<void> | undefined;

  /** The next look reads the leases when it begins, and answers later. */
  holdNextLook(): PromiseWithResolvers<void> {
    const answer = Promise.withResolvers<void>();
    this.#answer = answer.promise;
    return answer;
  }

  put(lease: LeaseId, version: string): void {
    this.leases.set(lease, { version, ttlMs: TTL_MS });
    this.wanted.add(lease);
  }

  async look(leases: readonly LeaseId[]): Promise<ReadonlyMap<LeaseId, LeaseView>> {
    this.looks += 1;
    if (this.fails) throw new Error('no answer');
    const [views, answer] = [new Map([...this.leases].filter(([lease]) => leases.includes(lease))), this.#answer];
    this.#answer = undefined;
    await answer;
    return views;
  }

  async end(lease: LeaseId, version: string): Promise<void> {
    this.beforeEnd();
    if (this.leases.get(lease)?.version === version) this.leases.delete(lease);
  }

  async deleteKeys(lease: LeaseId): Promise<void> {
    await this.onDeleteKeys(lease);
    this.deleted.push(lease);
  }

  dependsOn(lease: LeaseId): boolean {
    return this.wanted.has(lease);
  }
}

function scene(): { readonly clock: ManualClock; readonly store: FakeStore; readonly observer: LeaseObserver } {
  const [clock, store] = [new ManualClock(), new FakeStore()];
  store.put('a', '1');
  return { clock, store, observer: new LeaseObserver(clock, store) };
}

it('one version for a whole ttl may be ended, and not a moment before', () => {
  const lease = new ObservedLease({ version: '1', ttlMs: TTL_MS }, 100);
  expect(lease.see({ version: '1', ttlMs: TTL_MS }, 1_099)).toBe(false);
  expect(lease.see({ version: '1', ttlMs: TTL_MS }, 1_100)).toBe(true);
});

it('a change begins the ttl anew, from the time at which it was received', () => {
  const lease = new ObservedLease({ version: '1', ttlMs: TTL_MS }, 0);
  expect(lease.see({ version: '2', ttlMs: TTL_MS }, 999)).toBe(false);
  expect(lease.see({ version: '2', ttlMs: TTL_MS }, 1_998)).toBe(false);
  expect(lease.see({ version: '2', ttlMs: TTL_MS }, 1_999)).toBe(true);
});

it('a lease that nobody renews is ended one ttl after it was first seen, and its keys are deleted', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(TTL_MS - 1);
  expect(store.leases.has('a')).toBe(true);
  await clock.advance(50);
  expect(store.leases.has('a')).toBe(false);
  expect(store.deleted).toEqual(['a']);
  expect(observer.isObserving('a')).toBe(false);
});

it('a renewal that the observer is told of begins a new ttl', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(900);
  store.put('a', '2');
  observer.saw('a', { version: '2', ttlMs: TTL_MS });
  await clock.advance(TTL_MS - 10);
  expect(store.leases.has('a')).toBe(true);
  await clock.advance(100);
  expect(store.leases.has('a')).toBe(false);
});

it('a renewal that it was not told of is found by the look at the end, and counts from that look', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(500);
  store.put('a', '2');
  await clock.advance(TTL_MS);
  expect(store.leases.has('a')).toBe(true);
  await clock.advance(TTL_MS);
  expect(store.leases.has('a')).toBe(false);
});

it('a renewal between the last look and the end wins', async () => {
  const { clock, store, observer } = scene();
  store.beforeEnd = () => {
    store.beforeEnd = () => {};
    store.put('a', '2');
  };
  observer.observe('a');
  await clock.advance(TTL_MS + 50);
  expect(store.leases.get('a')?.version).toBe('2');
  await clock.advance(TTL_MS - 100);
  expect(store.leases.has('a')).toBe(true);
});

it('a lease that is gone is deleted at once, also when the observer is only told that it may be', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(10);
  store.leases.delete('a');
  observer.saw('a', undefined);
  await clock.advance(20);
  expect(store.deleted).toEqual(['a']);
});

it('a lease that is dropped while the observer looks is not observed again', async () => {
  const { clock, store, observer } = scene();
  for (const isGone of [false, true]) {
    const answer = store.holdNextLook();
    observer.observe('a');
    await clock.advance(0);
    observer.drop('a');
    if (isGone) store.leases.delete('a');
    answer.resolve();
    await clock.advance(0);
    expect(observer.isObserving('a')).toBe(false);
  }
  expect(store.deleted).toEqual([]);
});

it('without answers nothing ends, and the looks go on', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(10);
  store.fails = true;
  await clock.advance(5 * TTL_MS);
  expect(store.leases.has('a')).toBe(true);
  store.fails = false;
  await clock.advance(1_050);
  expect(store.deleted).toEqual(['a']);
});

it('looks that fail become rarer, up to one per second', async () => {
  const { clock, store, observer } = scene();
  store.fails = true;
  observer.observe('a');
  await clock.advance(60_000);
  expect(store.looks).toBeLessThan(65);
});

it('what the process no longer depends on is left alone, and without a lease nothing runs', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(10);
  store.wanted.clear();
  await clock.advance(5 * TTL_MS);
  expect(store.leases.has('a')).toBe(true);
  const { looks } = store;
  await clock.advance(100 * TTL_MS);
  expect(store.looks).toBe(looks);
});

it('closed, it looks no more', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  observer.close();
  await clock.advance(5 * TTL_MS);
  expect([store.looks, store.leases.has('a')]).toEqual([0, true]);
});

it('a lease to recheck is looked at, and its ttl goes on', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(TTL_MS - 100);
  observer.recheck('a');
  await clock.advance(50);
  expect([store.looks, store.leases.has('a')]).toEqual([2, true]);
  await clock.advance(100);
  expect([store.leases.has('a'), store.deleted]).toEqual([false, ['a']]);
});

it('a lease to recheck that is gone loses its keys at once, although the first look fails', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(100);
  store.leases.delete('a');
  store.fails = true;
  observer.recheck('a');
  await clock.advance(100);
  store.fails = false;
  await clock.advance(300);
  expect(store.deleted).toEqual(['a']);
});

it('a recheck of a lease that is not observed does nothing', async () => {
  const { clock, store, observer } = scene();
  observer.recheck('a');
  await clock.advance(TTL_MS);
  expect([store.looks, observer.isObserving('a')]).toEqual([0, false]);
});

it('a lease whose end the observer is told of during a look that began before is deleted at once', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(100);
  const answer = store.holdNextLook();
  observer.recheck('a');
  await clock.advance(1);
  store.leases.delete('a');
  observer.saw('a', undefined);
  answer.resolve();
  await clock.advance(100);
  expect(store.deleted).toEqual(['a']);
});

it('a look that began before the last renewal was seen does not begin the ttl anew', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(100);
  const answer = store.holdNextLook();
  observer.recheck('a');
  await clock.advance(1);
  store.put('a', '2');
  observer.saw('a', { version: '2', ttlMs: TTL_MS });
  await clock.advance(1);
  answer.resolve();
  await clock.advance(TTL_MS + 50);
  expect(store.leases.has('a')).toBe(false);
});

it('a lease whose keys cannot be deleted is tried again after growing pauses', async () => {
  const { clock, store, observer } = scene();
  let attempts = 0;
  store.onDeleteKeys = () => {
    attempts += 1;
    return Promise.reject(new Error('not permitted'));
  };
  store.leases.clear();
  observer.observe('a');
  await clock.advance(60_000);
  expect(attempts).toBeGreaterThan(10);
  expect(attempts).toBeLessThan(20);
  store.onDeleteKeys = async () => {};
  await clock.advance(5_050);
  expect(store.deleted).toEqual(['a']);
});

it('a lease whose deletion fails, and one whose deletion has no answer, hold up no other and are not tried twice at a time', async () => {
  const { clock, store, observer } = scene();
  store.put('b', '1');
  observer.observe('a');
  observer.observe('b');
  await clock.advance(10);
  const attempts: LeaseId[] = [];
  store.onDeleteKeys = async (lease) => {
    attempts.push(lease);
    if (lease === 'a') throw new Error('refused');
    if (lease === 'b') await new Promise(() => {});
  };
  store.leases.clear();
  observer.recheck('a');
  observer.recheck('b');
  await clock.advance(100);
  store.put('c', '1');
  observer.observe('c');
  await clock.advance(2 * TTL_MS);
  expect(store.deleted).toEqual(['c']);
  expect(attempts.filter((lease) => lease === 'b')).toEqual(['b']);
});

it('a lease that is found gone before its ttl is over loses its keys at once, although their first deletion fails', async () => {
  const { clock, store, observer } = scene();
  observer.observe('a');
  await clock.advance(10);
  store.onDeleteKeys = () => Promise.reject(new Error('no answer'));
  store.leases.delete('a');
  observer.recheck('a');
  await clock.advance(30);
  store.onDeleteKeys = async () => {};
  await clock.advance(300);
  expect(store.deleted).toEqual(['a']);
});

it('many leases that are renewed are looked at together, whenever each of them was first seen', async () => {
  const { clock, store, observer } = scene();
  const leases = Array.from({ length: 100 }, (_, index) => `lease-${index}`);
  store.wanted.clear();
  for (const lease of leases) {
    store.put(lease, '1');
    observer.observe(lease);
    await clock.advance(TTL_MS / 100);
  }
  const before = store.looks;
  for (let renewal = 2; renewal <= 60; renewal += 1) {
    for (const lease of leases) store.put(lease, String(renewal));
    await clock.advance(TTL_MS / 3);
  }
  expect(store.leases.size).toBe(101);
  // In 20 ttls.
  expect(store.looks - before).toBeLessThan(20 * 8);
});
