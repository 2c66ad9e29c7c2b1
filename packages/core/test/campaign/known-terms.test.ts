/** A member issues no term that it has seen, also where the store has lost it. */

import { describe, expect, it } from 'vitest';
import { KnownTerms } from '../../src/campaign/known-terms.ts';
import { ElectionAdmin } from '../../src/index.ts';
import { readTerm, writeLowered } from '../../src/protocol/record.ts';
import { MAX_FLOOR } from '../../src/protocol/terms.ts';
import { lastIssued } from '../../src/protocol/transactions.ts';
import { leaderOf, queued, termOf } from '../support/candidates.ts';
import { entryOf } from '../support/entries.ts';
import { behind, led } from '../support/led.ts';
import { NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** The key `term` after an operator has lowered its term. */
function lowered(from: bigint, to: bigint) {
  return entryOf(TERM, writeLowered(readTerm(termOf(from, queued('a', 1))), to));
}

/** The store loses everything. */
function wipe(world: World): void {
  for (const { id } of world.server.leases()) world.server.expireLease(id);
  for (const key of world.server.keys()) world.server.deleteKey(key);
}

/** The events `termWentBack`. */
function reported(world: World): readonly unknown[] {
  return world.events.all.map(({ fields }) => fields).filter(({ event }) => event === 'termWentBack');
}

describe('the last term issued', () => {
  const record = (term: bigint) => readTerm(termOf(term, queued('a', 1)));

  it('is the higher one of the record and what the member has seen', () => {
    expect(lastIssued(record(7n), 5n)).toBe(7n);
    expect(lastIssued(record(5n), 7n)).toBe(7n);
    expect(lastIssued(undefined, 7n)).toBe(7n);
    expect(lastIssued(undefined, 0n)).toBe(0n);
  });

  it('is the one that an operator has lowered it to', () => {
    const term = readTerm(lowered(90n, 7n));
    expect(lastIssued(term, 90n)).toBe(7n);
    expect(lastIssued(term, 50n)).toBe(7n);
    expect(lastIssued(term, 91n)).toBe(91n);
  });

  it('is lowered from the highest term, if an operator lowers it twice', () => {
    const twice = readTerm(entryOf(TERM, writeLowered(readTerm(lowered(90n, 50n)), 7n)));
    expect([twice.term, twice.loweredFrom]).toEqual([7n, 90n]);
  });

  it('is forgotten by a member that reads the lowered one', () => {
    const terms = new KnownTerms(0n);
    terms.seeTerm(termOf(90n, queued('a', 1)));
    terms.seeTerm(lowered(90n, 7n));
    expect(terms.seen).toBe(7n);
  });

  it('does not fall with a watch that lags behind', () => {
    const terms = new KnownTerms(0n);
    terms.seeTerm(termOf(9n, queued('a', 1)));
    terms.seeTerm(termOf(8n, queued('a', 1)));
    terms.seeTerm(undefined);
    expect(terms.seen).toBe(9n);
  });

  it('is never above the terms that a caller may demand', () => {
    const terms = new KnownTerms(0n);
    terms.see(MAX_FLOOR + 1n);
    terms.seeTerm(termOf(MAX_FLOOR + 1n, queued('a', 1)));
    terms.seeLeader(leaderOf(MAX_FLOOR + 1n, queued('a', 1)));
    expect(terms.seen).toBe(0n);
    terms.seeLeader(leaderOf(MAX_FLOOR, queued('a', 1)));
    expect(terms.seen).toBe(MAX_FLOOR);
  });
});

describe('after a store has lost everything', () => {
  it('its leader leads in a higher term than before, and reports the loss', async () => {
    const { world, member } = await led();
    wipe(world);
    await world.pass(TTL_MS);
    expect((await world.elect(member)).term).toBe(2n);
    expect(reported(world)).toMatchObject([{ memberId: 'a', election: NAME, storedTerm: '0', seenTerm: '1' }]);
    await world.close();
  });

  it.each(['dropReplies', 'dropRequests'] as const)('its leader reports the loss once if %s loses the claim', async (drop) => {
    const { world, store, member, leadership } = await led();
    await world.run(leadership.resign());
    world.server.deleteKey(TERM);
    store.link[drop](1, { operations: ['compareAndSwap'], how: 'reset' });
    expect((await world.elect(member)).term).toBe(2n);
    expect(world.events.all.filter(({ fields }) => fields['doing'] === 'claiming')).toHaveLength(1);
    expect(reported(world)).toMatchObject([{ storedTerm: '0', seenTerm: '1' }]);
    await world.close();
  });

  it.each([{}, { assignableLease: false, revisionsSurviveDeletion: false }])(
    'a candidate that has waited leads in a higher term than the former leader, which is cut off: %j',
    async (options) => {
      const { world, store, leadership } = await led(options);
      const next = await behind(world, 'b');
      store.link.cutOff();
      wipe(world);
      await world.until(() => next.state === 'resolved');
      expect([leadership.isValid(), leadership.term, next.value?.term]).toEqual([true, 1n, 2n]);
      await world.close();
    },
  );

  it('a candidate that has waited behind two others passes the term that it saw last', async () => {
    const { world, member, leadership } = await led();
    const second = await behind(world, 'b');
    const third = await behind(world, 'c');
    await world.run(leadership.resign());
    await world.until(() => second.state === 'resolved');
    await world.pass(100);
    await world.run(member.close());
    await world.pass(100);
    expect(second.value?.term).toBe(2n);
    wipe(world);
    await world.until(() => third.state === 'resolved');
    expect(third.value?.term).toBeGreaterThan(2n);
    await world.close();
  });

  it('a member that has seen no term issues the first one again', async () => {
    const { world } = await led();
    wipe(world);
    expect((await world.elect(world.member('new'))).term).toBe(1n);
    expect(reported(world)).toEqual([]);
  });
});

describe('after a restore of an older state', () => {
  it('the leader leads in a higher term than all that it has seen', async () => {
    const { world, member, leadership } = await led();
    const older = world.json(TERM);
    await world.run(leadership.resign());
    const later = await world.elect(member);
    expect(later.term).toBe(2n);
    wipe(world);
    world.put(TERM, older);
    await world.pass(TTL_MS);
    expect((await world.elect(member)).term).toBe(3n);
    expect(reported(world)).toMatchObject([{ storedTerm: '1', seenTerm: '2' }]);
    await world.close();
  });
});

describe('after an operator has lowered the last term', () => {
  it('a candidate that has seen the higher one follows the lower one', async () => {
    const world = new World();
    await world.run(world.member('a').election(NAME, { minTerm: 900n }).campaign());
    const next = await behind(world, 'b');
    expect(await world.run(new ElectionAdmin(world.connect(), NAME).lowerTermUnsafely(900n, 7n))).toBe(true);
    await world.until(() => next.state === 'resolved');
    expect(next.value?.term).toBe(8n);
    expect(reported(world)).toEqual([]);
    await world.close();
  });
});
