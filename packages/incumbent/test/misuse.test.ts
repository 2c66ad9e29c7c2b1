/** What callers without TypeScript may pass by mistake. */

import { openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  ElectionObserver,
  lead,
  Member,
  openStore,
  PartitionedElection,
  SlotElection,
  StoredValueObserver,
  type Store,
} from '../src/index.ts';

let store: Store;
let member: Member;
beforeEach(async () => {
  store = await openMemory();
  member = new Member(store);
});
afterEach(async () => {
  await member.close();
  await store.close();
});

describe('a mistake is named:', () => {
  it.each<[string, () => unknown[], string]>([
    ['no options', () => [member, 'workers'], 'options is undefined: it must be an object with `slots`'],
    ['no name', () => [member, undefined, { slots: 2 }], 'name is undefined: it must be 1 to 128 characters'],
    ['a store for the member', () => [store, 'workers', { slots: 2 }], 'member is an object: it must be a Member'],
    ['no member', () => [undefined, 'workers', { slots: 2 }], 'member is undefined: it must be a Member'],
    ['null as the member', () => [null, 'workers', { slots: 2 }], 'member is null: it must be a Member'],
  ])('SlotElection with %s', (_, args, message) => {
    expect(() => Reflect.construct(SlotElection, args())).toThrow(message);
  });

  it('a promise of the options of a Member', () => {
    const options = Promise.resolve({ memberId: 'broker-1' });
    expect(() => Reflect.construct(Member, [store, options])).toThrow(
      'member options is a promise: it must be an object (await the promise)',
    );
  });

  it.each([
    { minTerm: 5 },
    { succession: 5 },
    { acceptWeakStore: 5 },
    { onElected: 5 },
    { onEnded: 5 },
    { parse: 5 },
    { codec: 5 },
    { value: 5n },
    { slots: 0 },
  ])('a wrong option of SlotElection, before it makes any election: %o', (wrong) => {
    expect(() => Reflect.construct(SlotElection, [member, 'workers', { slots: 2, ...wrong }])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
    expect(new SlotElection(member, 'workers', { slots: 2 }).slots).toBe(2);
  });

  it('a name that is too long for the elections of a SlotElection, before it makes any election', () => {
    const name = 'x'.repeat(125);
    expect(() => new SlotElection(member, name, { slots: 2 })).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
    expect(() => member.election(`${name}.0`, { value: 1 })).not.toThrow();
  });

  it.each<[string, () => unknown[], string]>([
    ['no options', () => [member, 'orders'], 'options is undefined: it must be an object with `partitions`'],
    ['no name', () => [member, undefined, { partitions: 2 }], 'name is undefined: it must be 1 to 128 characters'],
    ['a store for the member', () => [store, 'orders', { partitions: 2 }], 'member is an object: it must be a Member'],
    [
      'a number as text',
      () => [member, 'orders', { partitions: '2' }],
      'partitions is a string of 1 characters: it must be an integer from 1',
    ],
    ['an unknown option', () => [member, 'orders', { partitions: 2, settleS: 3 }], 'settleS'],
  ])('PartitionedElection with %s', (_, args, message) => {
    expect(() => Reflect.construct(PartitionedElection, args())).toThrow(message);
  });

  it('work or retry that is no function, before PartitionedElection joins the group', async () => {
    const orders = new PartitionedElection(member, 'shipments', { partitions: 1 });
    for (const args of [[], [() => {}, { retry: true }], [() => {}, { once: true }], [() => {}, { signal: 'SIGTERM' }]]) {
      const leading: Promise<unknown> = Reflect.apply(orders.lead, orders, args);
      await expect(leading).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    }
    expect(await store.list('groups')).toEqual([]);
  });

  it.each([null, 5])('observers with the options %s', (options) => {
    for (const Observer of [ElectionObserver, StoredValueObserver])
      expect(() => Reflect.construct(Observer, [store, 'workers', options])).toThrow(/^observer options is .*: it must be an object$/);
  });

  it('a controller for the signal of openStore', async () => {
    const opened: Promise<unknown> = Reflect.apply(openStore, undefined, ['memory:', { signal: new AbortController() }]);
    await expect(opened).rejects.toThrow('signal is an object: it must be an AbortSignal');
  });

  it('no election in lead, before the store is opened', async () => {
    const opener = (): never => {
      throw new Error('opened');
    };
    const leading: Promise<unknown> = Reflect.apply(lead, undefined, [opener, undefined, () => {}]);
    await expect(leading).rejects.toThrow('election is undefined: it must be 1 to 128 characters');
  });
});
