import { isIncumbentError, outcomeOf } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { Bench, call, TTL_MS } from './simulated-client.ts';

describe('a lease', () => {
  it.each([0.9901, 1, 1.0099])(
    'never ends before its ttl by the clock of the store, at the rate %f, and late by so much at most',
    async (rate) => {
      for (let seed = 1; seed <= 30; seed += 1) {
        const bench = new Bench({ rate, expiryLateMs: 300 }, seed);
        const lease = await bench.grant();
        await bench.pass(500);
        await bench.run(bench.store.renewLease(lease, { ...call, at: bench.at() }));
        const [held] = bench.server.leases.all();
        await bench.pass(held!.endsAtMs - bench.scheduler.nowMs - 2);
        expect(held!.endsAtMs).toBeGreaterThan(500 + TTL_MS / rate);
        expect(bench.leases).toBe(1);
        await bench.pass(310);
        expect(bench.leases).toBe(0);
      }
    },
  );

  it('whose acknowledgements prove less ends at the time of the previous renewal, and its client declares that', async () => {
    for (const acknowledges of ['previous', 'previousUndeclared'] as const) {
      const bench = new Bench({ acknowledges });
      const granted = bench.at();
      const lease = await bench.grant();
      await bench.pass(600);
      const sent = bench.at();
      const { validFrom } = await bench.run(bench.store.renewLease(lease, { ...call, at: sent }));
      expect(validFrom).toEqual(acknowledges === 'previous' ? granted : sent);
      await bench.pass(420);
      expect(bench.leases).toBe(0);
    }
  });

  it('has its whole ttl again after a failover, and does not end during one', async () => {
    const bench = new Bench();
    await bench.grant();
    await bench.pass(900);
    bench.server.failOver(700);
    await bench.pass(1_600);
    expect(bench.leases).toBe(1);
    await bench.pass(200);
    expect(bench.leases).toBe(0);
  });
});

describe('a write', () => {
  const change = { key: 'a', expect: null, put: new Uint8Array([1]) } as const;

  it('whose answer is lost is applied, with an unknown outcome', async () => {
    const bench = new Bench();
    bench.client.loseReplies(1);
    const error = await bench.run(bench.store.compareAndSwap([change], call).catch((reason: unknown) => reason));
    expect(outcomeOf(error)).toBe('unknown');
    expect(isIncumbentError(error, 'TIMEOUT')).toBe(true);
    expect(bench.server.state.get('a')).toBeDefined();
  });

  it('that is held is applied long after its timeout', async () => {
    const bench = new Bench();
    bench.client.hold(2_000);
    const error = await bench.run(bench.store.compareAndSwap([change], call).catch((reason: unknown) => reason));
    expect(outcomeOf(error)).toBe('unknown');
    expect(bench.server.state.get('a')).toBeUndefined();
    await bench.pass(2_000);
    expect(bench.server.state.get('a')).toBeDefined();
    expect(bench.client.held).toBe(1);
  });

  it('is applied if only the direction of answers is cut, and not if that of requests is', async () => {
    for (const side of ['up', 'down'] as const) {
      const bench = new Bench();
      bench.client.link.cut(side);
      await bench.run(bench.store.compareAndSwap([change], call).catch(() => {}));
      expect(bench.server.state.get('a') !== undefined).toBe(side === 'down');
      expect(bench.client.link.lost).toBeGreaterThan(0);
    }
  });

  it('is lost until the last of several faults that lose messages is repaired, the worst of which counts', async () => {
    const bench = new Bench();
    const repairs = [1, 0, 1].map((ratio) => bench.client.link.lose(ratio));
    const lost = async (): Promise<boolean> => {
      const before = bench.client.link.lost;
      await bench.run(bench.store.compareAndSwap([change], call).catch(() => {}));
      return bench.client.link.lost > before;
    };
    for (const [index, isLostThen] of [true, true, false].entries()) {
      expect(await lost()).toBe(true);
      repairs[index]?.();
      expect(await lost()).toBe(isLostThen);
    }
  });

  it('is not sent while connections are refused, which its caller learns after a moment', async () => {
    const bench = new Bench();
    const repair = bench.client.link.refuse();
    const before = bench.scheduler.nowMs;
    const error = await bench.run(bench.store.compareAndSwap([change], call).catch((reason: unknown) => reason));
    expect(outcomeOf(error)).toBe('notSent');
    expect(bench.scheduler.nowMs).toBeGreaterThan(before);
    repair();
    expect(await bench.run(bench.store.compareAndSwap([change], call))).toMatchObject({ swapped: true });
  });

  it('of a process that died is still applied, if it was sent', async () => {
    const bench = new Bench();
    void bench.store.compareAndSwap([change], call).catch(() => {});
    bench.process.kill();
    await bench.pass(100);
    expect(bench.server.state.get('a')).toBeDefined();
  });

  it('that a failover loses is undone, with the lease that was granted meanwhile; deleted keys are back', async () => {
    const bench = new Bench();
    await bench.run(bench.store.compareAndSwap([change], call));
    const snapshot = bench.server.snapshot();
    await bench.grant();
    const revision = String(bench.server.state.get('a')?.revision);
    await bench.run(
      bench.store.compareAndSwap(
        [
          { key: 'a', expect: revision, delete: true },
          { ...change, key: 'b' },
        ],
        call,
      ),
    );
    bench.server.failOver(10, snapshot);
    expect(bench.server.state.all().map(({ key }) => key)).toEqual(['a']);
    expect(bench.leases).toBe(0);
    // The revision of the lost write is used again.
    bench.server.state.force('c', new Uint8Array());
    expect(bench.server.state.get('c')).toMatchObject({ revision: 2, order: 2 });
  });
});

describe('while the store has no leader', () => {
  it('a request may be refused, lost, or applied late', async () => {
    const fates = new Set<string>();
    for (let seed = 1; seed <= 40; seed += 1) {
      const bench = new Bench({}, seed);
      bench.server.failOver(150);
      const change = { key: 'a', expect: null, put: new Uint8Array([1]) } as const;
      const result = await bench.run(bench.store.compareAndSwap([change], call).catch((reason: unknown) => reason));
      fates.add(result instanceof Error ? outcomeOf(result) : 'applied late');
      await bench.pass(1_000);
      const applied = bench.server.state.get('a') !== undefined;
      if (result instanceof Error && outcomeOf(result) === 'refused') expect(applied).toBe(false);
    }
    expect([...fates].toSorted()).toEqual(['applied late', 'refused', 'unknown']);
  });

  it('a store that was wiped is empty', async () => {
    const bench = new Bench();
    await bench.grant();
    bench.server.state.force('a', new Uint8Array());
    bench.server.wipe();
    expect(bench.server.state.all()).toEqual([]);
    expect(bench.leases).toBe(0);
    bench.server.state.force('b', new Uint8Array());
    expect(bench.server.state.get('b')).toMatchObject({ revision: 1, order: 1 });
  });
});
