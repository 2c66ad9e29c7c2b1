/**
 * Disks that hang, connections that go silent, several servers behind one address, and a deleted
 * entry.
 */

import { outcomeOf, type Entry } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { profileOf, run, type Fault, type FaultKind, type WorldEvent } from '../src/index.ts';
import type { HangMode } from '../src/store/disks.ts';
import { Bench, call } from './simulated-client.ts';

const put = { key: 'a', expect: null, put: new Uint8Array([1]) } as const;
const hangs = (hung: HangMode, silentPart = 0, server = 0) => ({ server, hung, silentPart });
/** By then a client has left a silent server, and its watches report again. */
const LEFT_MS = 1_500;

/**
 * What a watch of the key `a` has reported so far (revisions, or `absent`), and how often it was
 * stale.
 */
function watched(bench: Bench): { readonly states: string[]; stale: number } {
  const seen = { states: new Array<string>(), stale: 0 };
  const onStale = (): void => void (seen.stale += 1);
  const read = async (states: AsyncIterable<Entry | undefined>): Promise<void> => {
    for await (const state of states) seen.states.push(state?.revision ?? 'absent');
  };
  void read(bench.store.watch('a', { signal: new AbortController().signal, onStale }));
  return seen;
}

const swap = (bench: Bench): Promise<unknown> =>
  bench.run(bench.store.compareAndSwap([put], call)).catch((error: unknown) => outcomeOf(error));
const read = (bench: Bench): Promise<unknown> => bench.run(bench.store.read('a', call)).catch((error: unknown) => outcomeOf(error));

describe('a server whose disk serves no writes', () => {
  it('serves reads and watches; writes wait for the disk, with an unknown outcome', async () => {
    const fates = new Set<boolean>();
    for (let seed = 1; seed <= 20; seed += 1) {
      const bench = new Bench({}, seed);
      const { states } = watched(bench);
      const repair = bench.server.hangDisk(hangs('writes'));
      expect(await swap(bench)).toBe('unknown');
      expect(bench.server.state.get('a')).toBeUndefined();
      expect(await read(bench)).toBeUndefined();
      bench.server.state.force('b', new Uint8Array());
      repair();
      await bench.pass(200);
      fates.add(bench.server.state.get('a') !== undefined);
      expect(states[0]).toBe('absent');
    }
    expect(fates).toEqual(new Set([true, false]));
  });

  it('sends nothing to some of its watches until the disk works', async () => {
    const bench = new Bench();
    const seen = watched(bench);
    await bench.pass(50);
    const repair = bench.server.hangDisk(hangs('writes', 1));
    bench.server.state.force('a', new Uint8Array());
    await bench.pass(5_000);
    expect(seen).toEqual({ states: ['absent'], stale: 0 });
    repair();
    await bench.pass(50);
    expect(seen.states).toHaveLength(2);
  });
});

describe('a server whose disk serves no linearizable reads', () => {
  it('renews leases; writes are applied by the others and not answered; reads are not answered', async () => {
    const bench = new Bench();
    const lease = await bench.grant();
    bench.server.hangDisk(hangs('reads'));
    expect(await swap(bench)).toBe('unknown');
    expect(bench.server.state.get('a')).toBeDefined();
    expect(await read(bench)).toBe('unknown');
    expect(await bench.run(bench.store.renewLease(lease, { ...call, at: bench.at() }))).toBeDefined();
  });

  it('loses its clients, whose watches go stale and continue on another server', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const bench = new Bench({ servers: 3 }, seed);
      const seen = watched(bench);
      await bench.pass(50);
      const { server } = bench.client.link.connection;
      bench.server.hangDisk(hangs('reads', 1, server));
      bench.server.state.force('a', new Uint8Array());
      await bench.pass(2 * LEFT_MS);
      expect(seen.stale).toBeGreaterThan(0);
      expect(seen.states).toHaveLength(2);
      expect(bench.client.link.connection.server).not.toBe(server);
    }
  });

  it('keeps its clients if it serves reads again in time', async () => {
    const bench = new Bench({ servers: 3 });
    const seen = watched(bench);
    await bench.pass(50);
    const { connection } = bench.client.link;
    const repair = bench.server.hangDisk(hangs('reads', 1, connection.server));
    bench.server.state.force('a', new Uint8Array());
    await bench.pass(500);
    repair();
    await bench.pass(LEFT_MS);
    expect(seen).toMatchObject({ states: ['absent', '1'], stale: 0 });
    expect(bench.client.link.connection).toBe(connection);
  });
});

describe('a connection that goes silent', () => {
  it('delivers nothing more; the next call uses a new connection', async () => {
    const bench = new Bench();
    bench.client.link.silence();
    expect(await swap(bench)).toBe('unknown');
    expect(bench.server.state.get('a')).toBeUndefined();
    expect(await swap(bench)).toMatchObject({ swapped: true });
  });

  it('loses requests and answers that are under way', async () => {
    const bench = new Bench({ latency: { minMs: 20, maxMs: 20 } });
    const answered = bench.store.compareAndSwap([put], call).catch((error: unknown) => outcomeOf(error));
    await bench.pass(30);
    bench.client.link.silence();
    expect(await bench.run(answered)).toBe('unknown');
    expect(bench.server.state.get('a')).toBeDefined();
  });

  it('loses its watches to a new connection, without a call, and is not repaired', async () => {
    const bench = new Bench();
    const seen = watched(bench);
    await bench.pass(50);
    bench.client.link.silence();
    bench.server.state.force('a', new Uint8Array());
    await bench.pass(800);
    expect(seen).toEqual({ states: ['absent'], stale: 0 });
    await bench.pass(LEFT_MS);
    expect(seen).toMatchObject({ states: ['absent', '1'], stale: 1 });
  });
});

describe('several servers behind one address', () => {
  it('take the connections of one client in any order, and at most two in a row to the same one', () => {
    const orders = new Set<string>();
    for (let seed = 1; seed <= 20; seed += 1) {
      const { link } = new Bench({ servers: 3 }, seed).client;
      const servers = Array.from({ length: 12 }, () => {
        link.leave(link.connection);
        return link.connection.server;
      });
      expect(new Set(servers)).toEqual(new Set([0, 1, 2]));
      expect(servers.some((server, index) => server === servers[index + 1] && server === servers[index + 2])).toBe(false);
      orders.add(servers.join());
    }
    expect(orders.size).toBeGreaterThan(10);
  });

  it('serve a client through another server while one of them is faulty', async () => {
    const bench = new Bench({ servers: 3 });
    bench.server.hangDisk(hangs('writes', 0, bench.client.link.connection.server));
    expect(await swap(bench)).toBe('unknown');
    const more = [await swap(bench), await swap(bench)];
    expect(more).toContainEqual(expect.objectContaining({ swapped: true }));
  });
});

/** The events of a world without other faults. */
async function eventsWith(...faults: readonly Fault[]): Promise<readonly WorldEvent[]> {
  const plan = profileOf('calm').plan(1);
  const events: WorldEvent[] = [];
  const { violations } = await run({ ...plan, faults }, { listener: { onEvent: (event) => void events.push(event) } });
  expect(violations).toEqual([]);
  return events;
}

describe("the leader's entry, deleted", () => {
  it('ends its leadership, and nobody else leads before', async () => {
    const events = await eventsWith({ kind: 'deleteEntry', when: { on: 'elected', nth: 1, afterMs: 100 } });
    const injectedAt = events.findIndex((event) => event.type === 'faultInjected' && event.kind === 'deleteEntry');
    const next = events.slice(injectedAt).find((event) => event.type === 'ended' || event.type === 'elected');
    expect(next).toMatchObject({ type: 'ended', reason: 'entryDeleted' });
  });

  it('does not occur together with a deleted record: a leader with silent watches would stay valid', async () => {
    const onElected = (afterMs: number): Fault['when'] => ({ on: 'elected', nth: 1, afterMs });
    const events = await eventsWith(
      { kind: 'stallWatches', target: 'leader', durationMs: 60_000, when: onElected(50) },
      { kind: 'deleteKey', which: 'leader', nth: 0, when: onElected(100) },
      { kind: 'deleteEntry', when: onElected(150) },
    );
    const injected = events.flatMap((event) => (event.type === 'faultInjected' ? [event.kind] : []));
    expect(injected).toEqual(['stallWatches', 'deleteKey']);
  });
});

describe.each(['stormy', 'adversarial', 'reaped'])('plans of %s', (profile) => {
  const plans = Array.from({ length: 200 }, (_, seed) => profileOf(profile).plan(seed));
  const has = (kind: FaultKind): boolean => plans.some(({ faults }) => faults.some((fault) => fault.kind === kind));

  it('have each of these faults, and some have several servers', () => {
    for (const kind of ['hangDisk', 'silenceConnections', 'deleteEntry'] as const) expect(has(kind)).toBe(true);
    expect(new Set(plans.map(({ shape }) => shape.store.servers))).toEqual(new Set([undefined, 3]));
    expect(new Set(plans.map(({ shape }) => shape.sickFailover))).toEqual(new Set([undefined, 'reads', 'writes']));
    expect(plans.some(({ shape }) => shape.silentConnections === true)).toBe(true);
  });

  it("delete no leader's record in a world in which its entry is deleted", () => {
    const deletesRecord = (fault: Fault): boolean => fault.kind === 'deleteKey' && fault.which === 'leader';
    for (const { faults } of plans) if (faults.some(({ kind }) => kind === 'deleteEntry')) expect(faults.filter(deletesRecord)).toEqual([]);
  });
});
