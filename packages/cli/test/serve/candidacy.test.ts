import { ElectionAdmin } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { CONNECT_WITHIN_MS } from '../../src/serve/candidacy.ts';
import { READ_MS } from '../../src/serve/silence-timer.ts';
import { DRAIN_MS, SidecarWorld, TTL_MS } from './world.ts';

let world: SidecarWorld;
beforeEach(() => {
  world = new SidecarWorld();
});
afterEach(async () => world[Symbol.asyncDispose]());

function admin(): ElectionAdmin {
  return new ElectionAdmin(world.cluster.process('operator').store, 'e');
}

describe('a candidacy', () => {
  it('leads in a term, and its answer says for how long', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    expect(candidacy.document()).toMatchObject({ state: 'waiting', leads: false, validForMs: 0 });
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document()).toMatchObject({ election: 'e', candidacy: 'a', member: 's1', state: 'leading', term: 1n });
    expect(events).toEqual([{ event: 'waiting' }, { event: 'elected', term: 1n }]);
  });

  it('is never promised more than the drain, nor more than the deadline of its leadership', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a');
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document().validForMs).toBeLessThan(DRAIN_MS);
    world.cluster.cutOff('s1');
    const leadership = candidacy.leadership(1n);
    for (;;) {
      const leftMs = leadership.remainingMs();
      const { validForMs, leads } = candidacy.document();
      expect(validForMs).toBeLessThanOrEqual(leftMs);
      if (!leads) break;
      await world.pass(50);
    }
  });

  it('keeps its value published while it leads', async () => {
    const sidecar = world.sidecar('s1');
    const { candidacy } = world.client(sidecar, 'a', { value: { url: 'http://a' } });
    await world.until(() => candidacy.document().leads);
    await world.pass(100);
    expect(await world.cluster.run(sidecar.leader('e'))).toMatchObject({ memberId: 's1', value: { url: 'http://a' } });
  });

  it('that is not renewed in time is over, and other candidates lead once its last promise has lapsed', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 3_000 });
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    candidacy.renew();
    await world.pass(2_990);
    const believedUntilMs = world.nowMs + candidacy.document().validForMs;
    expect(believedUntilMs).toBeGreaterThan(world.nowMs + 1_900);
    await world.pass(20 + READ_MS);
    expect(candidacy.document()).toMatchObject({ state: 'stopping', leads: false, validForMs: 0, reason: 'expired' });
    expect(candidacy.document()).not.toHaveProperty('awaits');
    await world.until(() => other.document().leads);
    expect(world.nowMs).toBeGreaterThanOrEqual(believedUntilMs);
    expect(world.nowMs).toBeLessThan(believedUntilMs + 100);
    expect(candidacy.document()).toMatchObject({ state: 'over' });
  });

  it('acknowledges a term also after an operator has lowered the terms', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    for (const term of [1n, 2n, 3n]) {
      await world.until(() => candidacy.document().leads);
      await world.cluster.run(candidacy.resign(term));
    }
    await world.until(() => candidacy.document().leads);
    expect(await world.cluster.run(admin().lowerTermUnsafely(4n, 1n))).toBe(true);
    await world.until(() => !candidacy.document().leads);
    candidacy.acknowledge(4n);
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document()).toMatchObject({ term: 2n });
    expect(await world.cluster.run(admin().stepDown(2n))).toBe(true);
    await world.until(() => !candidacy.document().leads);
    candidacy.acknowledge(2n);
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document()).toMatchObject({ term: 3n });
    expect(events).toContainEqual({ event: 'drained', term: 2n, acknowledged: true });
  });

  it('that is renewed goes on', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 3_000 });
    for (let i = 0; i < 10; i += 1) {
      await world.pass(2_500);
      candidacy.renew();
    }
    expect(candidacy.document()).toMatchObject({ state: 'leading', term: 1n });
  });

  it('is over when the last of its streams closes', async () => {
    const { candidacy, disconnect } = world.client(world.sidecar('s1'), 'a');
    const second = candidacy.openStream(() => {});
    disconnect();
    expect(candidacy.isOver).toBe(false);
    second();
    expect(candidacy.document()).toMatchObject({ state: 'over', reason: 'disconnected' });
  });

  it('that a stream should keep is over if none comes', async () => {
    const candidacy = world.sidecar('s1').create('e', 'a', { renewWithinMs: null });
    await world.pass(CONNECT_WITHIN_MS + READ_MS + 10);
    expect(candidacy.document().reason).toBe('disconnected');
  });

  it('that its client withdraws is released at once', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    candidacy.document();
    candidacy.end('withdrawn');
    expect(await world.until(() => other.document().leads)).toBeLessThan(100);
    expect(events.slice(2)).toEqual([
      { event: 'ended', term: 1n, reason: 'resigned', lost: false },
      { event: 'drained', term: 1n, acknowledged: true },
      { event: 'over', reason: 'withdrawn' },
    ]);
  });

  it('tells a new stream the present state', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a');
    await world.until(() => candidacy.document().leads);
    const events: unknown[] = [];
    candidacy.openStream((event) => void events.push(event));
    expect(events).toEqual([{ event: 'elected', term: 1n }]);
  });

  it('hears of an overdue renewal, and of the next one that is acknowledged', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    await world.until(() => candidacy.document().leads);
    world.cluster.cutOff('s1');
    await world.until(() => events.some(({ event }) => event === 'suspect'));
    expect(candidacy.document().state).toBe('suspect');
    world.cluster.heal('s1');
    await world.until(() => events.some(({ event }) => event === 'recovered'));
    expect(candidacy.document().state).toBe('leading');
  });
});

describe('the work of a term that ends', () => {
  it('keeps the keys until the client says that it has stopped', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    await world.cluster.run(admin().stepDown(1n));
    await world.until(() => events.some(({ event }) => event === 'ended'));
    await world.pass(1_000);
    expect(other.document().leads).toBe(false);
    expect(candidacy.document()).toMatchObject({ state: 'stopping', term: 1n });
    candidacy.acknowledge(1n);
    candidacy.acknowledge(1n);
    expect(await world.until(() => other.document().leads)).toBeLessThan(100);
    expect(events.slice(2)).toEqual([
      { event: 'ended', term: 1n, reason: 'steppedDown', lost: false },
      { event: 'drained', term: 1n, acknowledged: true },
      { event: 'waiting' },
    ]);
  });

  it('keeps them for the drain at most, and then the candidacy waits for its client before it campaigns again', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    await world.cluster.run(admin().stepDown(1n));
    await world.until(() => events.some(({ event }) => event === 'ended'));
    const tookMs = await world.until(() => other.document().leads);
    expect(tookMs).toBeGreaterThan(DRAIN_MS - 50);
    expect(tookMs).toBeLessThan(DRAIN_MS + 100);
    other.end('withdrawn');
    await world.pass(5_000);
    expect(candidacy.document()).toMatchObject({ state: 'stopping', term: 1n });
    candidacy.acknowledge(1n);
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document().term).toBe(3n);
  });

  it('is owed by a client that only asks, and each answer says so until the client acknowledges', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 15_000 });
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document()).not.toHaveProperty('awaits');
    await world.cluster.run(admin().stepDown(1n));
    await world.until(() => !candidacy.document().leads);
    for (let asked = 0; asked < 24; asked += 1) {
      expect(candidacy.document()).toMatchObject({ state: 'stopping', leads: false, term: 1n, awaits: 'acknowledge' });
      candidacy.renew();
      await world.pass(1_000);
    }
    candidacy.acknowledge(1n);
    expect(candidacy.document()).not.toHaveProperty('awaits');
    await world.until(() => candidacy.document().leads);
    expect(candidacy.document()).toMatchObject({ state: 'leading', term: 2n });
    expect(candidacy.document()).not.toHaveProperty('awaits');
  });

  it('is asserted to have stopped by resign, after which the candidacy waits again', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    candidacy.document();
    await world.cluster.run(candidacy.resign(1n));
    expect(candidacy.document()).toMatchObject({ state: 'waiting', leads: false });
    await world.until(() => other.document().leads);
    await expect(candidacy.resign(1n)).rejects.toMatchObject({ code: 'OTHER_TERM' });
  });

  it('cannot be acknowledged while the candidacy leads', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a');
    await world.until(() => candidacy.document().leads);
    expect(() => candidacy.acknowledge(1n)).toThrow('has not ended');
    expect(() => candidacy.acknowledge(2n)).toThrow('not in term 2');
  });

  it('goes on after a handover to nobody, and its end is awaited later', async () => {
    const { candidacy, events } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    await world.pass(100);
    await expect(world.cluster.run(candidacy.handover(1n, 'nobody'))).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(candidacy.document()).toMatchObject({ state: 'leading', term: 1n });
    await world.cluster.run(admin().stepDown(1n));
    await world.until(() => events.some(({ event }) => event === 'ended'));
    await world.pass(1_000);
    expect(other.document().leads).toBe(false);
    candidacy.acknowledge(1n);
    await world.until(() => other.document().leads);
  });

  it('promises nothing while a handover is under way', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    await world.pass(100);
    const handover = candidacy.handover(1n, 's2');
    expect(candidacy.document()).toMatchObject({ state: 'stopping', leads: false, validForMs: 0 });
    expect(candidacy.document()).not.toHaveProperty('awaits');
    await world.cluster.run(handover);
    expect(other.document()).toMatchObject({ leads: true, term: 2n });
  });

  it('can be acknowledged while the sidecar closes', async () => {
    const sidecar = world.sidecar('s1');
    const { candidacy, events } = world.client(sidecar, 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    const closed = sidecar.close();
    await world.pass(500);
    expect(other.document().leads).toBe(false);
    expect(sidecar.find('e', 'a')).toBe(candidacy);
    expect(candidacy.document()).toMatchObject({ state: 'stopping', awaits: 'acknowledge', reason: 'closing' });
    candidacy.acknowledge(1n);
    await world.cluster.run(closed);
    expect(other.document().leads).toBe(true);
    expect(events.at(-1)).toEqual({ event: 'over', reason: 'closing' });
  });

  it('has stopped if the client withdraws while the sidecar closes', async () => {
    const sidecar = world.sidecar('s1');
    const { candidacy, events } = world.client(sidecar, 'a');
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    const closed = sidecar.close();
    await world.pass(500);
    expect(other.document().leads).toBe(false);
    candidacy.end('withdrawn');
    expect(await world.until(() => other.document().leads)).toBeLessThan(100);
    await world.cluster.run(closed);
    expect(events.slice(3)).toEqual([
      { event: 'drained', term: 1n, acknowledged: true },
      { event: 'over', reason: 'closing' },
    ]);
  });
});

describe('the candidacies of one sidecar', () => {
  it('are in a bounded number of elections at the same time, and those that are over do not count', async () => {
    const sidecar = world.sidecar('s1', { maxElections: 2 });
    const [first] = ['e1', 'e2'].map((election) => sidecar.create(election, 'a', { renewWithinMs: 3_600_000 }));
    expect(() => sidecar.create('e3', 'a', { renewWithinMs: 3_600_000 })).toThrow('takes part in 2 elections, and in no more');
    await world.until(() => first?.document().leads === true);
    first?.end('withdrawn');
    await world.pass(1_000);
    const third = sidecar.create('e3', 'a', { renewWithinMs: 3_600_000 });
    await world.until(() => third.document().leads);
    expect(() => sidecar.create('e1', 'a', { renewWithinMs: 3_600_000 })).toThrow('takes part in 2 elections, and in no more');
  });

  it('can be in an election again that the sidecar has left for others', async () => {
    const sidecar = world.sidecar('s1', { maxElections: 1 });
    for (const election of ['e1', 'e2', 'e1']) {
      const candidacy = sidecar.create(election, 'a', { renewWithinMs: 3_600_000 });
      await world.until(() => candidacy.document().leads);
      candidacy.end('withdrawn');
      await world.pass(1_000);
    }
  });

  it('are not more after somebody has read the candidates of other elections', async () => {
    const sidecar = world.sidecar('s1', { maxElections: 1 });
    expect(await world.cluster.run(sidecar.candidates('e1'))).toEqual([]);
    expect(await world.cluster.run(sidecar.candidates('e2'))).toEqual([]);
    const candidacy = sidecar.create('e3', 'a', { renewWithinMs: 3_600_000 });
    await world.until(() => candidacy.document().leads);
  });

  it('lead one after the other, each in a new term, in the order in which they have waited', async () => {
    const sidecar = world.sidecar('s1');
    const clients = ['a', 'b', 'c'].map((id) => world.client(sidecar, id));
    const order: string[] = [];
    for (let turn = 1n; turn <= 7n; turn += 1n) {
      await world.until(() => clients.some(({ candidacy }) => candidacy.document().leads));
      const leaders = clients.filter(({ candidacy }) => candidacy.document().leads);
      expect(leaders).toHaveLength(1);
      const [leader] = leaders;
      if (leader === undefined) throw new TypeError('nobody leads');
      expect(leader.candidacy.document().term).toBe(turn);
      order.push(leader.candidacy.id);
      await world.cluster.run(leader.candidacy.resign(turn));
    }
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a']);
  });

  it('are one candidate in the store, and take turns with the candidates of others', async () => {
    const [one, many] = [world.sidecar('s1'), world.sidecar('s2')];
    const clients = [world.client(one, 'x'), ...Array.from({ length: 20 }, (_, i) => world.client(many, `y${i}`))];
    await world.pass(100);
    expect(await world.cluster.run(one.candidates('e'))).toMatchObject([
      { memberId: 's1', leads: true },
      { memberId: 's2', leads: false },
    ]);
    const order: string[] = [];
    for (let turn = 1n; turn <= 6n; turn += 1n) {
      await world.until(() => clients.some(({ candidacy }) => candidacy.document().leads));
      const leader = clients.find(({ candidacy }) => candidacy.document().leads);
      order.push(leader?.candidacy.document().member ?? '');
      await world.cluster.run(leader?.candidacy.resign(turn) ?? Promise.resolve());
    }
    expect(order).toEqual(['s1', 's2', 's1', 's2', 's1', 's2']);
  });

  it('leave no entry in the store when all of them are over', async () => {
    const sidecar = world.sidecar('s1');
    const clients = ['a', 'b'].map((id) => world.client(sidecar, id));
    await world.until(() => clients.some(({ candidacy }) => candidacy.document().leads));
    for (const { candidacy } of clients) candidacy.end('withdrawn');
    await world.pass(TTL_MS / 10);
    expect(world.cluster.server.entries().filter(({ key }) => key.startsWith('elections/e/candidates/'))).toEqual([]);
    expect(sidecar.size).toBe(0);
  });

  it('with the same id exclude each other until the first one is over', async () => {
    const sidecar = world.sidecar('s1');
    const { candidacy } = world.client(sidecar, 'a');
    expect(() => world.client(sidecar, 'a')).toThrow('has a candidacy "a"');
    expect(candidacy.accepts(candidacy.secret)).toBe(true);
    expect(candidacy.accepts('guess')).toBe(false);
    candidacy.end('withdrawn');
    world.client(sidecar, 'a');
  });
});
