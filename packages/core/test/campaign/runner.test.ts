import type { MemoryStore } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { byPriority, type CallOptions, type ElectionOptions, type Leadership, type Store } from '../../src/index.ts';
import { writeCandidate } from '../../src/protocol/record.ts';
import { led } from '../support/led.ts';
import { relay, timeout } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** An entry under a lease that lives on, and that nobody campaigns with. */
async function hungCandidate(world: World, name: string, store: MemoryStore = world.connect()): Promise<void> {
  const at = { monotonicMs: world.clock.monotonic(), wallMs: world.clock.wall() };
  const { id } = await world.run(store.grantLease(86_400_000, { at, timeoutMs: 100 }));
  await world.run(store.enqueue(CANDIDATES, `${name}~i~1~fifo~`, writeCandidate(undefined, 0n, 0n), id, { timeoutMs: 100 }));
}

function campaign(world: World, memberId: string, options?: ElectionOptions): Tracked<Leadership> {
  return track(world.member(memberId).election(NAME, options).campaign());
}

/** When somebody is elected, in ttls from now. */
async function ttlsUntil(world: World, elected: Tracked<Leadership>, withinTtls: number): Promise<number> {
  const from = world.clock.monotonic();
  await world.until(() => elected.state === 'resolved', 'elected', withinTtls * TTL_MS, TTL_MS / 20);
  return (world.clock.monotonic() - from) / TTL_MS;
}

describe('an entry that lives and never claims', () => {
  it('holds the next one up for one and a half ttls of vacancy, and is removed by its claim', async () => {
    const { world } = await led();
    await hungCandidate(world, 'w');
    const next = campaign(world, 'b');
    await world.pass(5 * TTL_MS);
    world.server.expireLease(world.leaseOf('a'));
    const waited = await ttlsUntil(world, next, 5);
    expect(waited).toBeGreaterThanOrEqual(1.5);
    expect(waited).toBeLessThan(1.6);
    expect(world.queue()).toEqual(['b']);
    expect(world.events.about('passed over')).toMatchObject([{ keys: [`${CANDIDATES}/w~i~1~fifo~`] }]);
  });

  it('is reported as passed over once, by the claim that succeeds', async () => {
    const world = new World();
    await hungCandidate(world, 'w');
    const [key, store] = [`${CANDIDATES}/w~i~1~fifo~`, world.connect()];
    const reported: number[] = [];
    /** Refuses the first claim, as its entry has changed, and loses the answer to the second. */
    const refusing = relay(store, {
      compareAndSwap: async (changes, options) => {
        if (!changes.some((change) => change.key === key)) return store.compareAndSwap(changes, options);
        const isFirst = reported.length === 0;
        if (isFirst) world.server.put(key, writeCandidate(undefined, 1n, 0n));
        const result = await store.compareAndSwap(changes, options);
        reported.push(world.events.about('passed over').length);
        if (!isFirst) throw timeout();
        return result;
      },
    });
    const next = track(world.member('b', {}, refusing).election(NAME).campaign());
    await ttlsUntil(world, next, 10);
    expect([next.value?.term, reported]).toEqual([1n, [0, 0]]);
    expect(world.events.about('passed over')).toMatchObject([{ keys: [key] }]);
  });

  it('is not reported as passed over if a handover elects the candidate whose claim is refused', async () => {
    const world = new World();
    await hungCandidate(world, 'w');
    const [key, store] = [`${CANDIDATES}/w~i~1~fifo~`, world.connect()];
    const handingOver = relay(store, {
      compareAndSwap: async (changes, options) => {
        const entry = changes[2]?.key ?? '';
        if (changes.some((change) => change.key === key)) {
          for (const its of [LEADER, TERM]) world.put(its, { v: 1, term: '1', memberId: 'b', incarnation: 'i', entry });
          world.server.put(entry, writeCandidate(undefined, 0n, 0n));
        }
        return store.compareAndSwap(changes, options);
      },
    });
    const next = track(world.member('b', {}, handingOver).election(NAME).campaign());
    await ttlsUntil(world, next, 5);
    expect([next.value?.term, world.queue()]).toEqual([1n, ['w', 'b']]);
    expect(world.events.about('passed over')).toEqual([]);
  });

  it('holds up nobody whose claim timeout began with another leader', async () => {
    const world = new World();
    await hungCandidate(world, 'w');
    const next = campaign(world, 'b');
    await world.pass(TTL_MS);
    world.put(LEADER, { v: 1, term: '7', memberId: 'x', incarnation: 'i', entry: 'e' });
    await world.pass(5 * TTL_MS);
    expect([next.state, world.queue()]).toEqual(['pending', ['w', 'b']]);
    world.server.deleteKey(LEADER);
    expect(await ttlsUntil(world, next, 5)).toBeGreaterThanOrEqual(1.5);
  });

  it('and another one after it hold up the next for two ttls', async () => {
    const world = new World();
    for (const name of ['v', 'w']) await hungCandidate(world, name);
    const next = campaign(world, 'b');
    const waited = await ttlsUntil(world, next, 5);
    expect(waited).toBeGreaterThanOrEqual(2);
    expect(waited).toBeLessThan(2.1);
    expect(world.queue()).toEqual(['b']);
  });

  it('is passed over by those that follow by priority, too', async () => {
    const world = new World();
    const store = world.connect();
    const at = { monotonicMs: 0, wallMs: 0 };
    const { id } = await world.run(store.grantLease(86_400_000, { at, timeoutMs: 100 }));
    await world.run(store.enqueue(CANDIDATES, 'w~i~1~priority~9', writeCandidate(undefined, 0n, 0n), id, { timeoutMs: 100 }));
    expect(await ttlsUntil(world, campaign(world, 'b', { succession: byPriority(1) }), 5)).toBeGreaterThanOrEqual(1.5);
  });

  it('is not the end, even where a dozen of them stand in the way', async () => {
    const world = new World();
    for (let i = 0; i < 12; i += 1) await hungCandidate(world, `w${i}`);
    const next = campaign(world, 'b');
    expect(await ttlsUntil(world, next, 200)).toBeGreaterThan(1);
  });
});

describe('a successor that never claims', () => {
  it('holds the others up for successorClaimTimeoutMs, and no longer', async () => {
    const { world, leadership } = await led({ assignableLease: false });
    const next = campaign(world, 'b');
    await world.pass(100);
    await hungCandidate(world, 'w');
    await world.run(leadership.handover('w'));
    const from = world.clock.monotonic();
    await world.until(() => next.state === 'resolved', 'elected', 5 * TTL_MS, 10);
    expect(world.clock.monotonic() - from).toBeGreaterThanOrEqual(5_000);
    expect(world.clock.monotonic() - from).toBeLessThan(5_100);
  });

  it('and leaves the queue, holds up nobody', async () => {
    const { world, leadership } = await led({ assignableLease: false });
    const next = campaign(world, 'b');
    await world.pass(100);
    const store = world.connect();
    await hungCandidate(world, 'w', store);
    await world.run(leadership.handover('w'));
    world.server.deleteKey(`${CANDIDATES}/w~i~1~fifo~`);
    await world.pass(50);
    expect(next.value?.term).toBe(2n);
  });
});

describe('a store whose answers to a campaign take longer than callTimeoutMs', () => {
  /** Reads take this long. The call is aborted or times out like any other. */
  function slowReads(world: World, store: Store, tookMs: number): Store {
    const slow = async <T>(read: () => Promise<T>, { timeoutMs = 0 }: CallOptions = {}): Promise<T> => {
      await new Promise<void>((resolve) => {
        world.clock.schedule(Math.min(tookMs, timeoutMs), resolve);
      });
      if (tookMs > timeoutMs) throw timeout();
      return read();
    };
    return relay(store, {
      read: (key, options) => slow(() => store.read(key, options), options),
      list: (prefix, options) => slow(() => store.list(prefix, options), options),
    });
  }

  it('elects a candidate, whose next try may take twice as long', async () => {
    const world = new World();
    const { callTimeoutMs } = world.member('a').timing;
    const member = world.member('b', {}, slowReads(world, world.connect(), 1.5 * callTimeoutMs));
    const elected = track(member.election(NAME).campaign());
    await world.until(() => elected.state === 'resolved', 'elected', 2 * TTL_MS);
    expect(elected.value?.isValid()).toBe(true);
  });

  it('shows a candidate whose watches are silent that nobody leads', async () => {
    const world = new World();
    const [leader, store] = [world.connect(), world.connect()];
    const member = world.member('a', {}, leader);
    await world.elect(member);
    const elected = track(
      world
        .member('b', {}, slowReads(world, store, 1.5 * member.timing.callTimeoutMs))
        .election(NAME)
        .campaign(),
    );
    await world.pass(TTL_MS);
    store.link.stallWatches();
    leader.link.cutOff();
    await world.until(() => elected.state === 'resolved', 'elected', 10 * TTL_MS);
  });
});

describe('a claim whose answer is lost', () => {
  it.each(['timeout', 'reset'] as const)('is found again if it was applied: the candidate is elected once (%s)', async (how) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.run(member.group('g').join());
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how });
    const leadership = await world.elect(member);
    expect([leadership.term, leadership.isValid()]).toEqual([1n, true]);
    await world.pass(5 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('is noticed if it is applied while the candidate waits behind one that is now preferred', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('low', {}, store);
    await world.run(member.group('g').join());
    store.link.holdWrites('compareAndSwap');
    const low = track(member.election(NAME, { succession: byPriority(1) }).campaign());
    await world.pass(2_400);
    store.link.holdWrites('revokeLease');
    const asHigh = relay(world.connect(), {});
    // Joins, and is slow to look.
    const slow = relay(asHigh, {
      list: async (...call) => {
        await new Promise<void>((resolve) => {
          world.clock.schedule(2_000, resolve);
        });
        return asHigh.list(...call);
      },
    });
    const high = track(
      world
        .member('high', {}, slow)
        .election(NAME, { succession: byPriority(2) })
        .campaign(),
    );
    await world.pass(1_000);
    store.link.release();
    await world.pass(TTL_MS);
    expect([low.value?.term, low.value?.isValid(), high.state]).toEqual([1n, true, 'pending']);
  });
});

describe('waiting', () => {
  it('costs the store two reads in three ttls for each of the few just behind the leader', async () => {
    const { world } = await led();
    for (let i = 0; i < 8; i += 1) {
      campaign(world, `m${i}`);
      await world.pass(20);
    }
    const { renewLease: _, read: readBefore, list: listBefore, ...before } = world.server.requests;
    await world.pass(100 * TTL_MS);
    const { read, list, ...after } = world.server.requests;
    expect(after).toMatchObject(before);
    // The leader looks for its successor once a minute.
    expect(list - listBefore).toBeLessThanOrEqual((100 * TTL_MS) / 60_000 + 1);
    expect(read - readBefore).toBeLessThanOrEqual((100 / 3) * 2 * 8);
  });

  it('costs those far back two reads in ten ttls', async () => {
    const { world } = await led();
    for (let i = 0; i < 9; i += 1) {
      campaign(world, `m${i}`);
      await world.pass(20);
    }
    const near = world.server.requests;
    await world.pass(60 * TTL_MS);
    const mid = world.server.requests;
    for (let i = 9; i < 12; i += 1) {
      campaign(world, `m${i}`);
      await world.pass(20);
    }
    const before = world.server.requests;
    await world.pass(60 * TTL_MS);
    const { list, read, compareAndSwap } = world.server.requests;
    // Of the nine in front, each may read once more in the second period than in the first.
    const byNear = mid.read - near.read + 9 * 2;
    expect(read - before.read - byNear).toBeLessThanOrEqual(3 * (6 * 2 + 3));
    expect(list - before.list).toBeLessThanOrEqual(3 + (60 * TTL_MS) / 60_000);
    expect(compareAndSwap).toBe(before.compareAndSwap);
  });

  it('goes on behind a leader that joined later: one that a handover has preferred', async () => {
    const { world, leadership } = await led();
    const b = campaign(world, 'b');
    await world.pass(20);
    const c = campaign(world, 'c');
    await world.pass(20);
    await world.run(leadership.handover('c'));
    await world.pass(10 * TTL_MS);
    expect([b.state, c.value?.term]).toEqual(['pending', 2n]);
    await world.run(c.value!.resign());
    await world.pass(20);
    expect(b.value?.term).toBe(3n);
  });
});
