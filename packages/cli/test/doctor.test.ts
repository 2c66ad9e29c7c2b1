import { type Store, StoreError } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { TestConsole } from './support/test-console.ts';

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await console[Symbol.asyncDispose]();
});

describe('doctor', () => {
  it('makes every kind of call, and leaves no key behind', async () => {
    const { code, out } = await console.run(['doctor', '--json', '--ttl', '5s']);
    const found = out
      .trimEnd()
      .split('\n')
      .map((line): { readonly what: string; readonly level: string } => JSON.parse(line));
    expect(code).toBe(0);
    expect(found.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(found.map(({ what }) => what)).toContain('revoke: its keys go with it');
    expect((await console.run(['status'])).err).toBe('there has been no election in this store\n');
  });

  it('leaves no key behind if a write fails', async () => {
    console.keep(await openMemory(`memory:${console.name}`));
    let writes = 0;
    const open = async (url: string): Promise<Store> => {
      const store = await openMemory(url);
      const swap = store.compareAndSwap.bind(store);
      const compareAndSwap: Store['compareAndSwap'] = async (changes, options) => {
        if (changes.some(({ key }) => key.endsWith('/timed')) && (writes += 1) === 10) throw new Error('the disk is full');
        return swap(changes, options);
      };
      return Object.assign(store, { compareAndSwap });
    };
    const { code, out } = await console.run(['doctor'], { open });
    expect([code, out]).toEqual([1, expect.stringMatching(/^FAIL  round trips +the disk is full$/m)]);
    await using store = await openMemory(`memory:${console.name}`);
    expect(await store.list('elections', { timeoutMs: 1_000 })).toEqual([]);
  });

  it('names a slow store as the cause if the lease expires before the last call', async () => {
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const open = async (url: string): Promise<Store> => {
      const store = await openMemory(url);
      const expired = new StoreError('LEASE_EXPIRED', 'refused', 'requested lease not found');
      const enqueue = store.enqueue.bind(store);
      return Object.assign(store, {
        enqueue: (...args: Parameters<Store['enqueue']>) => {
          nowMs += 6_000;
          return enqueue(...args);
        },
        compareAndSwap: () => Promise.reject(expired),
      });
    };
    const { code, out } = await console.run(['doctor', '--ttl', '5s'], { open });
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^FAIL  round trips +too slow: a few calls took 6s, longer than the ttl of 5s$/m),
    ]);
    expect(out).toMatch(/^FAIL  claim: several keys at once +LEASE_EXPIRED/m);
  });

  it('measures fewer calls of a store that is slow', async () => {
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const open = async (url: string): Promise<Store> => {
      const store = await openMemory(url);
      const read = store.read.bind(store);
      return Object.assign(store, {
        read: (...args: Parameters<Store['read']>) => {
          nowMs += 3_000;
          return read(...args);
        },
      });
    };
    const { out } = await console.run(['doctor', '--ttl', '30s'], { open });
    expect(out).toMatch(/^warn  reads +p50 3000.0 ms, p99 3000.0 ms, of 4: slow for a ttl of 30 s/m);
  });

  it('that runs elsewhere, or was killed, does not disturb status and doctor', async () => {
    console.keep(await openMemory(`memory:${console.name}`));
    await console.write('elections/doctor-0123456789ab/term', '{}');
    expect(await console.run(['status'])).toMatchObject({ code: 0, err: 'there has been no election in this store\n' });
    expect(await console.run(['doctor'])).toMatchObject({ code: 0, out: expect.stringContaining('none yet') });
  });

  it('fails if another program has written a record of an election', async () => {
    const member = await console.member('intruder');
    await member.election('db').campaign();
    await console.write('elections/db/term', 'hello');
    const { code, out } = await console.run(['doctor']);
    expect([code, out]).toEqual([1, expect.stringContaining('FOREIGN_DATA')]);
  });

  it('warns if the user may not read what the server reports about itself', async () => {
    const open = async (url: string): Promise<Store> => {
      const refused = new StoreError('PERMISSION_DENIED', 'refused', 'missing: agent:read');
      return Object.assign(await openMemory(url), { inspect: () => Promise.reject(refused) });
    };
    const { code, out } = await console.run(['doctor'], { open });
    expect([code, out]).toEqual([0, expect.stringMatching(/^warn  the server .*missing: agent:read$/m)]);
  });

  it('warns of what weakens the server, and says why the store is not linearizable', async () => {
    const report = { facts: [{ what: 'durability', detail: 'fsync is off', isWeak: true }], warnings: [] };
    const open = async (): Promise<Store> =>
      Object.assign(await openMemory({ name: console.name, server: { linearizable: false } }), { inspect: () => Promise.resolve(report) });
    const { out } = await console.run(['doctor'], { open });
    expect(out).toMatch(/^warn  durability +fsync is off$/m);
    expect(out).toMatch(/^warn  linearizable +no: its option linearizable is false; two members may then lead/m);
  });

  it('rejects a ttl that the store does not support', async () => {
    expect(await console.run(['doctor', '--ttl', '48h'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--ttl 48h is not possible'),
    });
  });
});
