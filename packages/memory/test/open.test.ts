import { ManualClock, openMemory } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { call, create, leaseCall, text } from './support.ts';

describe('openMemory', () => {
  it('without a name opens a store of its own each time', async () => {
    await using first = await openMemory('memory:');
    await using second = await openMemory();
    await create(first, 'a');
    expect(await second.read('a', call)).toBeUndefined();
  });

  it('with a name opens the same store, in one namespace or another', async () => {
    await using first = await openMemory('memory:common');
    await using second = await openMemory('memory://common');
    await using apart = await openMemory('memory:common/apart');
    await using same = await openMemory({ name: 'common', namespace: 'apart' });
    await create(first, 'a', 'one');
    await create(apart, 'b', 'two');
    expect([text(await second.read('a', call)), text(await same.read('b', call))]).toEqual(['one', 'two']);
    expect([await apart.read('a', call), await first.read('b', call)]).toEqual([undefined, undefined]);
    expect(first.server).toBe(apart.server);
  });

  it('frees a server, and its timers, when its last store is closed', async () => {
    const clock = new ManualClock();
    const first = await openMemory({ name: 'freed', server: { clock } });
    const second = await openMemory('memory:freed');
    await create(first, 'a');
    await first.grantLease(1_000, leaseCall(clock));
    await first.close();
    await first.close();
    expect(await second.read('a', call)).toBeDefined();
    await second.close();
    expect(clock.timers).toBe(0);
    await using third = await openMemory('memory:freed');
    expect(await third.read('a', call)).toBeUndefined();
  });

  it('keeps no server of a name whose first store could not be opened', async () => {
    await expect(openMemory({ name: 'later', namespace: 'b//c' })).rejects.toThrow(/namespace/);
    await using store = await openMemory({ name: 'later', server: { maxChanges: 3 } });
    expect(store.capabilities.maxChanges).toBe(3);
  });

  it('refuses invalid options', async () => {
    await using _ = await openMemory('memory:taken');
    for (const target of ['etcd://host', 'memory', 'memory:a/', 'memory:a//b', 'memory:a?x=1', { name: 'a', namespace: 'b//c' }]) {
      await expect(openMemory(target)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    }
    await expect(openMemory('memory:b c')).rejects.toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
    await expect(openMemory({ name: 'taken', server: { maxChanges: 3 } })).rejects.toThrow(/open already/);
    await expect(openMemory({ nmae: 'typo' } as never)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
