import { systemClock } from '@incumbent/core';
import { ManualClock, MemoryServer } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { bench, bytes, call, create, failure, leaseCall, text } from './support.ts';

describe('a lease', () => {
  it('ends exactly after its ttl on a manual clock', async () => {
    const { clock, server, store } = bench();
    const lease = await store.grantLease(1_000, leaseCall(clock));
    await store.enqueue('q', 'name', bytes(''), lease.id, call);
    await clock.advance(600);
    await store.renewLease(lease.id, leaseCall(clock));
    await clock.advance(999);
    expect(server.leases()).toEqual([{ id: lease.id, ttlMs: 1_000, remainingMs: 1, keys: ['q/name'] }]);
    await clock.advance(1);
    expect([server.keys(), server.leases()]).toEqual([[], []]);
    expect(clock.timers).toBe(0);
  });

  it('ends by the clock of the server, whatever its client’s clock shows', async () => {
    const [server, slow] = [new MemoryServer({ clock: new ManualClock() }), new ManualClock()];
    const { clock } = server;
    const store = server.connect({ clock: slow });
    await store.grantLease(1_000, leaseCall(slow));
    if (clock instanceof ManualClock) await clock.advance(1_000);
    expect([server.leases(), slow.monotonic()]).toEqual([[], 0]);
  });

  it('ends although no timer fires exactly at its end', async () => {
    const clock = new ManualClock({ monotonicMs: 0.1 });
    const server = new MemoryServer({ clock });
    const store = server.connect();
    const { id } = await store.grantLease(1_000.7, leaseCall(clock));
    for (let i = 0; i < 30; i += 1) {
      await clock.advance(333.3);
      await store.renewLease(id, leaseCall(clock));
    }
    const renewedAtMs = clock.monotonic();
    await clock.run(goneFrom(server, clock));
    expect(clock.monotonic() - renewedAtMs).toBeGreaterThanOrEqual(1_000.7);
    expect(clock.monotonic() - renewedAtMs).toBeLessThan(1_003);
  });

  it('never ends early on the system’s clock', async () => {
    const server = new MemoryServer();
    const grants = Array.from({ length: 50 }, async (_, i) => {
      const at = { monotonicMs: systemClock.monotonic(), wallMs: 0 };
      const { id, ttlMs } = await server.connect().grantLease(50 + i / 7, { ...call, at });
      return { id, endsAtMs: at.monotonicMs + ttlMs };
    });
    const pending = new Map((await Promise.all(grants)).map(({ id, endsAtMs }) => [id, endsAtMs]));
    while (pending.size > 0) {
      await new Promise(setImmediate);
      const live = new Set(server.leases().map((lease) => lease.id));
      for (const [id, endsAtMs] of pending) {
        if (live.has(id)) continue;
        expect(systemClock.monotonic()).toBeGreaterThanOrEqual(endsAtMs);
        pending.delete(id);
      }
    }
    await server.close();
  });

  it('is granted within the limits of the server', async () => {
    const { clock, store } = bench({ minTtlMs: 500, maxTtlMs: 2_000 });
    const granted = async (ttlMs: number): Promise<number> => (await store.grantLease(ttlMs, leaseCall(clock))).ttlMs;
    expect([await granted(1), await granted(700), await granted(10_000)]).toEqual([500, 700, 2_000]);
  });
});

async function goneFrom(server: MemoryServer, clock: ManualClock): Promise<void> {
  while (server.leases().length > 0) {
    await new Promise<void>((resolve) => {
      clock.schedule(1, resolve);
    });
  }
}

describe('the methods by which a test acts as an operator', () => {
  it('put overwrites any key and unbinds it from its lease', async () => {
    const { clock, server, store } = bench();
    const lease = await store.grantLease(1_000, leaseCall(clock));
    const entry = await store.enqueue('q', 'name', bytes('mine'), lease.id, call);
    server.put('q/name', bytes('theirs'));
    await clock.advance(1_000);
    const [after] = server.entries();
    expect([text(after), after?.lease, after?.order]).toEqual(['theirs', undefined, entry.order]);
    expect(after?.revision).not.toBe(entry.revision);
  });

  it('deleteKey and expireLease return whether there was a key or a lease', async () => {
    const { clock, server, store } = bench();
    const lease = await store.grantLease(1_000, leaseCall(clock));
    for (const name of ['a', 'b']) await store.enqueue('q', name, bytes(''), lease.id, call);
    await create(store, 'kept');
    expect([server.deleteKey('q/a'), server.deleteKey('q/a')]).toEqual([true, false]);
    expect(server.leases()[0]?.keys).toEqual(['q/b']);
    expect([server.expireLease(lease.id), server.expireLease(lease.id)]).toEqual([true, false]);
    expect(server.keys()).toEqual(['kept']);
    expect(clock.timers).toBe(0);
  });

  it('put and entries copy the bytes of values', () => {
    const { server } = bench();
    const value = bytes('value');
    server.put('a', value);
    value.fill(0);
    server.entries()[0]?.value.fill(0);
    expect(server.entries().map(text)).toEqual(['value']);
  });
});

describe('a server', () => {
  it('counts the requests that reach it, by kind', async () => {
    const { clock, server, store } = bench();
    const before = server.requests;
    const lease = await store.grantLease(1_000, leaseCall(clock));
    await store.renewLease(lease.id, leaseCall(clock));
    await store.enqueue('q', 'name', bytes(''), lease.id, call);
    await create(store, 'a');
    await create(store, 'a');
    await store.read('a', call);
    await store.list('q', call);
    await store.revokeLease(lease.id, call);
    store.link.dropRequests(1, { how: 'reset' });
    await failure(store.read('a', call));
    const kinds = { grantLease: 1, renewLease: 1, revokeLease: 1, compareAndSwap: 2, enqueue: 1, read: 1, list: 1 };
    expect(server.requests).toEqual(kinds);
    expect(new Set(Object.values(before))).toEqual(new Set([0]));
  });

  it('keeps namespaces apart, and shows keys with their namespace', async () => {
    const { server } = bench();
    const [a, b] = [server.connect({ namespace: 'a' }), server.connect({ namespace: 'a/b' })];
    await create(a, 'key', 'of a');
    await create(b, 'key', 'of b');
    expect([text(await a.read('key', call)), text(await b.read('key', call))]).toEqual(['of a', 'of b']);
    expect((await b.read('key', call))?.key).toBe('key');
    expect(server.keys()).toEqual(['a/key', 'a/b/key']);
  });

  it('declares the capabilities of its options, and enforces its limits', async () => {
    const { store } = bench({ linearizable: false, termSource: 'clock', endsEarly: 'a test says so', maxChanges: 1, maxValueBytes: 3 });
    expect(store.capabilities).toMatchObject({ linearizable: false, termSource: 'clock', endsEarly: 'a test says so', maxChanges: 1 });
    expect(await failure(create(store, 'a', 'four'))).toBe('TOO_LARGE refused');
    expect('endsEarly' in bench().store.capabilities).toBe(false);
  });

  it('closes its clients, stops its timers, and ends calls under way', async () => {
    const { clock, server, store } = bench({}, { latencyMs: 10 });
    const lease = await clock.run(store.grantLease(1_000, leaseCall(clock)));
    const underWay = failure(store.renewLease(lease.id, leaseCall(clock)));
    await server.close();
    await server.close();
    expect([await underWay, server.clients]).toEqual(['STORE_CLOSED unknown', 0]);
    expect(await failure(store.read('a', call))).toBe('STORE_CLOSED notSent');
    expect(() => server.connect()).toThrow('closed');
    await clock.advance(10);
    expect(clock.timers).toBe(0);
  });

  it('refuses options that cannot be used', () => {
    for (const options of [
      { minTtlMs: 0 },
      { maxTtlMs: 1, minTtlMs: 2 },
      { maxChanges: 0 },
      { termSource: 'dice' },
      { linearizable: 1 },
      { typo: 1 },
      { clock: null },
      { clock: { monotonic: () => 0 } },
    ]) {
      expect(() => new MemoryServer(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    }
    for (const options of [{ namespace: '/a' }, { namespace: 'a//b' }, { namespace: '' }, { latencyMs: -1 }, { latencyMs: 'slow' }]) {
      expect(() => new MemoryServer().connect(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    }
  });

  it('refuses arguments that cannot be used, before anything is sent', async () => {
    const { clock, server, store } = bench();
    const mistakes = [
      () => store.read('', call),
      () => store.read('a//b', call),
      () => store.read('a b', call),
      () => store.list('a/', call),
      () => store.read('a', { timeoutMs: 0 }),
      () => store.read('a', { timeoutMs: Number.NaN }),
      () => store.grantLease(0, leaseCall(clock)),
      () => store.enqueue('q', 'a/b', bytes(''), 'lease-1', call),
      () => create(store, 'ä'),
    ];
    for (const mistake of mistakes) await expect(mistake()).rejects.toThrow(RangeError);
    expect(Object.values(server.requests).every((count) => count === 0)).toBe(true);
  });
});
