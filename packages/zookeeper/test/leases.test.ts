/** Renewals in any order, checked by a model of what the ensemble's leader can know. */

import { describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/jute.ts';
import { multi } from '../src/protocol/multi.ts';
import { closeSession, create } from '../src/protocol/nodes.ts';
import { agree, gone, ok } from './support/fake-server.ts';
import { CALL, CHECKED, momentOf, NOAUTH, settled, StoreWorld } from './support/store-world.ts';

describe('a renewal', () => {
  it('does not vouch from one that was acknowledged a moment ago, however early it was sent', async () => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id, validFrom } = await world.clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(world.clock) }));
    await world.clock.advance(6_000);
    // The link is delayed: this renewal arrives and is answered 2.6 s after it was sent.
    let answer = (): void => {};
    world.instead = ({ type, xid }, peer) => {
      if (type !== multi.type) return false;
      answer = () => peer.reply(xid, { body: CHECKED });
      return true;
    };
    const first = store.renewLease(id, { timeoutMs: 5_000, at: momentOf(world.clock) });
    await world.clock.advance(2_600);
    answer();
    await world.clock.run(first);
    world.instead = () => false;
    const renew = async (): Promise<number> => {
      const { validFrom: from } = await world.clock.run(store.renewLease(id, { ...CALL, at: momentOf(world.clock) }));
      return from.monotonicMs;
    };
    // The server got both within a millisecond, and may not have reported either to the ensemble’s
    // leader.
    expect(await renew()).toBe(validFrom.monotonicMs);
    await world.clock.advance(2_500);
    expect(await renew()).toBe(validFrom.monotonicMs + 8_600);
    await world.clock.run(store.close());
  });

  // A transaction that failed is answered with OK. The reason stands in the answer of its part.
  it.each([
    ['SESSIONEXPIRED', -112, { code: 'LEASE_EXPIRED', outcome: 'refused' }],
    ['SESSIONMOVED', -118, { code: 'CONNECTION_LOST', outcome: 'notSent' }],
    ['NOAUTH', NOAUTH, { ttlMs: 10_000 }],
  ])('counts by what the answer says of its session: %s', async (_, code, expected) => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(world.clock) }));
    world.instead = ({ type, xid }, peer) => {
      if (type !== multi.type) return false;
      peer.reply(xid, { body: new Writer().int(-1).bool(false).int(code).int(code).int(-1).bool(true).int(-1).finish() });
      return true;
    };
    expect(await world.clock.run(settled(store.renewLease(id, { ...CALL, at: momentOf(world.clock) })))).toMatchObject(expected);
    await world.clock.run(store.close());
  });

  it('vouches from no later than one acknowledged a quarter of the ttl before, in any order of answers', async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      let state = seed * 2_654_435_761;
      const randomBelow = (below: number): number => {
        state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
        return (state >>> 0) % below;
      };
      const world = new StoreWorld();
      const store = await world.open();
      const { id, validFrom } = await world.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(world.clock) }));
      const acked: { readonly sent: number; readonly by: number }[] = [{ sent: validFrom.monotonicMs, by: validFrom.monotonicMs }];
      let best = validFrom.monotonicMs;
      const calls: Promise<void>[] = [];
      for (let step = 0; step < 12; step += 1) {
        const at = momentOf(world.clock);
        const lateMs = randomBelow(3) * 300;
        calls.push(
          store.renewLease(id, { timeoutMs: 2_000, at: { ...at, monotonicMs: at.monotonicMs - lateMs } }).then(
            ({ validFrom: from }) => {
              acked.push({ sent: at.monotonicMs - lateMs, by: world.clock.monotonic() });
              // No later than what is proven by this one, or was by one before.
              const proven = Math.max(best, ...acked.filter(({ by }) => by <= at.monotonicMs - 1_000).map(({ sent }) => sent));
              expect(from.monotonicMs).toBeLessThanOrEqual(proven);
              best = Math.max(best, from.monotonicMs);
            },
            () => {},
          ),
        );
        if (randomBelow(6) === 0) for (const peer of world.server.peers) peer.end();
        await world.clock.advance(randomBelow(1_500));
      }
      await world.clock.run(Promise.all(calls));
      await world.clock.run(store.close());
    }
  });
});

it('a lease whose revocation was not sent can be renewed', async () => {
  const world = new StoreWorld();
  const { server, clock } = world;
  const store = await world.open();
  const { id } = await clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(clock) }));
  server.accepts = 'refuse';
  for (const peer of server.peers) peer.end();
  await clock.advance(10);
  await expect(clock.run(store.revokeLease(id, { timeoutMs: 200 }))).rejects.toMatchObject({ outcome: 'notSent' });
  server.accepts = true;
  await clock.advance(1_000);
  expect(await clock.run(store.renewLease(id, { ...CALL, at: momentOf(clock) }))).toMatchObject({ ttlMs: 10_000 });
  await clock.run(store.close());
});

it('a lease that was given up is not gone because a server that is behind does not know it', async () => {
  const world = new StoreWorld();
  const { server, clock } = world;
  const store = await world.open();
  const { id } = await clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(clock) }));
  await clock.run(store.renewLease(id, { ...CALL, at: momentOf(clock) }));
  server.accepts = 'refuse';
  for (const peer of server.peers) peer.end();
  await clock.advance(11_000);
  server.accepts = true;
  server.greet = (hello, peer) => {
    if (hello.id === 0n) agree(hello, peer);
    else if (hello.lastZxid > 0n) peer.end();
    else gone(hello, peer);
  };
  const renewed = store.renewLease(id, { ...CALL, at: momentOf(clock) });
  await expect(clock.run(renewed)).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
  await expect(clock.run(store.revokeLease(id, CALL))).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
  // The server has caught up.
  server.greet = agree;
  await clock.run(store.revokeLease(id, CALL));
  await clock.run(store.close());
});

describe('concurrent revocations of one lease', () => {
  /** The answers to requests that close a session come after this time. */
  const LATE_MS = 500;

  async function leased() {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(world.clock) }));
    const closed: number[] = [];
    world.instead = (request, peer) => {
      if (request.type !== closeSession.type) return false;
      closed.push(world.clock.monotonic());
      world.clock.schedule(LATE_MS, () => ok(request, peer));
      return true;
    };
    return { world, store, id, closed };
  }

  it('share one request', async () => {
    const { world, store, id, closed } = await leased();
    await world.clock.run(Promise.all([1, 2, 3].map(() => store.revokeLease(id, CALL))));
    expect(closed).toHaveLength(1);
    await world.clock.run(store.close());
  });

  it('share one request after the session was given up', async () => {
    const { world, store, id, closed } = await leased();
    world.server.accepts = 'refuse';
    for (const peer of world.server.peers) peer.end();
    await world.clock.advance(11_000);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    await world.clock.run(Promise.all([1, 2, 3].map(() => store.revokeLease(id, CALL))));
    expect(closed).toHaveLength(1);
    await world.clock.run(store.close());
  });

  it('each end with their own signal and time', async () => {
    const { world, store, id } = await leased();
    const caller = new AbortController();
    const first = settled(store.revokeLease(id, { ...CALL, signal: caller.signal }));
    const second = settled(store.revokeLease(id, { timeoutMs: 200 }));
    const third = settled(store.revokeLease(id, CALL));
    await world.clock.advance(LATE_MS / 2);
    caller.abort('enough');
    expect(await first).toBe('enough');
    expect(await second).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await world.clock.run(third)).toBeUndefined();
    await world.clock.run(store.close());
  });
});

describe('a lease whose revocation had an unknown outcome', () => {
  it.each(['renewLease', 'enqueue', 'compareAndSwap'] as const)('is revoked again by %s, which then reports its end', async (call) => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(world.clock) }));
    // The server is stalled, and the session moves to another one.
    world.instead = ({ type }, peer) => {
      if (type !== closeSession.type) return false;
      world.clock.schedule(300, () => peer.end());
      return true;
    };
    const revoked = store.revokeLease(id, { timeoutMs: 200 });
    await expect(world.clock.run(revoked)).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    await world.clock.advance(1_000);
    const sent: number[] = [];
    world.instead = ({ type }) => {
      sent.push(type);
      return false;
    };
    const calls = {
      renewLease: () => store.renewLease(id, { ...CALL, at: momentOf(world.clock) }),
      enqueue: () => store.enqueue('q', 'a', new Uint8Array(), id, CALL),
      compareAndSwap: () => store.compareAndSwap([{ key: 'k', expect: null, put: new Uint8Array(), lease: id }], CALL),
    };
    await expect(world.clock.run<unknown>(calls[call]())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(sent).toContain(closeSession.type);
    expect(sent).not.toContain(multi.type);
    expect(sent).not.toContain(create.type);
    await world.clock.run(store.close());
  });
});
