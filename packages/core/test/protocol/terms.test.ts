/** No single wrong number uses up the terms of an election, and an operator can undo one. */

import { describe, expect, it } from 'vitest';
import { ElectionAdmin, Fence, type Leadership, type Store } from '../../src/index.ts';
import { checkAdmitted, checkFloor, MAX_FLOOR, MAX_TERM, termAfter } from '../../src/protocol/terms.ts';
import { after, behind, led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

function operator(world: World, store: Store = world.connect()): ElectionAdmin {
  return new ElectionAdmin(store, NAME);
}

/** Writes the term record as a store would have it where this was the last term issued. */
function exhaust(world: World, term: bigint = MAX_TERM): void {
  world.put(TERM, { v: 1, term: String(term), memberId: 'x', incarnation: 'x', entry: `elections/${NAME}/candidates/gone`, kept: 'yes' });
}

const exhausted = { code: 'TERMS_EXHAUSTED', details: { term: MAX_TERM } };

describe('the bounds of terms', () => {
  it('leave room, each below the next one', () => {
    expect(checkFloor('minTerm', MAX_FLOOR)).toBe(2n ** 61n);
    expect(checkAdmitted('term', 2n ** 62n, 1n)).toBe(2n ** 62n);
    expect(checkAdmitted('highest', 0n, 0n)).toBe(0n);
    expect(termAfter(2n ** 62n)).toBe(2n ** 62n + 1n);
  });

  it.each([0n, -1n, 2n ** 61n + 1n, 1, '1', null, undefined])('allow nobody to demand %s', (term) => {
    expect(() => checkFloor('minTerm', term)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it.each([0n, 2n ** 62n + 1n, 1, null, undefined])('let no fence admit %s', (term) => {
    expect(() => checkAdmitted('term', term, 1n)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('end with the highest signed integer of 64 bits', () => {
    expect(termAfter(MAX_TERM - 1n)).toBe(2n ** 63n - 1n);
    expect(() => termAfter(MAX_TERM)).toThrow(expect.objectContaining(exhausted));
  });
});

describe('an election whose terms begin at the highest minTerm', () => {
  it('goes on from term to term, and fences admit its terms', async () => {
    const world = new World();
    const election = world.member('a').election(NAME, { minTerm: MAX_FLOOR });
    const fence = new Fence();
    for (const term of [MAX_FLOOR, MAX_FLOOR + 1n, MAX_FLOOR + 2n]) {
      const leadership = await world.run(election.campaign());
      expect(leadership.term).toBe(term);
      fence.admit(leadership.term);
      await world.run(leadership.resign());
    }
    await world.close();
    world.expectNothingLeft();
  });

  it('goes on after the highest term that can be reported', async () => {
    const { world, member, leadership } = await led();
    leadership.reportTerm(MAX_FLOOR);
    await world.run(leadership.released);
    expect((await world.elect(member)).term).toBe(MAX_FLOOR + 1n);
  });
});

describe('an election that has used up its terms', () => {
  it('rejects campaign and lead with TERMS_EXHAUSTED, and leaves no entry', async () => {
    const world = new World();
    exhaust(world);
    const election = world.member('a').election(NAME);
    await expect(world.run(election.campaign())).rejects.toMatchObject(exhausted);
    await expect(world.run(election.lead(() => 'led'))).rejects.toMatchObject(exhausted);
    await world.pass(TTL_MS);
    expect([world.queue(), world.json(LEADER)]).toEqual([[], undefined]);
    await world.close();
    world.expectNothingLeft();
  });

  it.each([
    ['in one swap', {}, { code: 'HANDOVER_FAILED' }],
    // The successor claims by itself, after the leader has handed over.
    ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }, undefined],
  ] as const)('passes no term on by a handover %s: leadership ends, and the successor is rejected', async (_, options, error) => {
    const world = new World(options);
    exhaust(world, MAX_TERM - 1n);
    const leadership = await world.elect(world.member('a'));
    expect(leadership.term).toBe(MAX_TERM);
    const next = await behind(world, 'b');
    const handover = track(leadership.handover('b'));
    await world.pass(TTL_MS);
    expect(handover).toMatchObject(error === undefined ? { state: 'resolved' } : { state: 'rejected', error });
    expect(next.error).toMatchObject(exhausted);
    expect(world.json(LEADER)).toBeUndefined();
  });
});

describe('an operator lowers the last term', () => {
  it('of an election that has used up its terms: the next leader has the term above it', async () => {
    const world = new World();
    exhaust(world);
    expect(await world.run(operator(world).lowerTermUnsafely(MAX_TERM, 41n))).toBe(true);
    expect(world.json(TERM)).toMatchObject({ term: '41', kept: 'yes' });
    expect((await world.elect(world.member('a'))).term).toBe(42n);
  });

  it('of an election that is led: nobody else is elected before the leader has stopped', async () => {
    const world = new World();
    const ended: unknown[] = [];
    const election = world.member('a').election(NAME, { minTerm: MAX_FLOOR });
    const leading = election.lead(async (leadership) => {
      if (leadership.term < MAX_FLOOR) return;
      ended.push(await leadership.ended);
      await after(world, 700);
    });
    track(leading);
    await world.pass(20);
    const next = await behind(world, 'b');
    expect(await world.run(operator(world).lowerTermUnsafely(MAX_FLOOR, 7n))).toBe(true);
    await world.pass(100);
    expect(ended).toMatchObject([{ reason: 'recordDeleted', lost: true }]);
    expect(next.state).toBe('pending');
    expect(await world.run(operator(world).state())).toMatchObject({ term: 7n, stopping: true });
    await world.pass(650);
    expect([next.value?.term, next.value?.isValid()]).toEqual([8n, true]);
  });

  it('and refuses what a leader of the former term still writes', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME, { minTerm: 9n }).campaign());
    const guard = leadership.guard();
    expect(await world.run(operator(world).lowerTermUnsafely(9n, 8n))).toBe(true);
    const late = await world.run(
      world.connect().compareAndSwap([guard, { key: 'x', expect: null, put: new Uint8Array() }], { timeoutMs: 100 }),
    );
    expect(late).toMatchObject({ swapped: false, failed: [{ index: 0 }] });
  });

  it('only where it is the term that was named', async () => {
    const { world, leadership } = await led();
    const before = world.json(TERM);
    expect(await world.run(operator(world).lowerTermUnsafely(2n, 1n))).toBe(false);
    expect([leadership.isValid(), world.json(TERM)]).toEqual([true, before]);
    expect(await world.run(new ElectionAdmin(world.connect(), 'none').lowerTermUnsafely(2n, 1n))).toBe(false);
  });

  it.each([
    ['to', 5n, 5n],
    ['to', 5n, 6n],
    ['to', 5n, 0n],
    ['to', MAX_TERM, MAX_FLOOR + 1n],
    ['to', 5n, 1],
    ['last', 5, 1n],
  ])('never by a wrong %s: %s to %s', async (option, last, to) => {
    const { world, leadership } = await led();
    const asked: Promise<unknown> = Reflect.apply(ElectionAdmin.prototype.lowerTermUnsafely, operator(world), [last, to]);
    await expect(world.run(asked)).rejects.toMatchObject({ code: 'INVALID_OPTION', details: { option } });
    expect(leadership.isValid()).toBe(true);
  });

  it('once, where an answer is lost', async () => {
    const world = new World();
    exhaust(world);
    const store = world.connect();
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    expect(await world.run(operator(world, store).lowerTermUnsafely(MAX_TERM, 41n))).toBe(true);
    expect(world.json(TERM)).toMatchObject({ term: '41' });
  });

  it('once, where an answer is lost and the same term has been issued again', async () => {
    const world = new World();
    exhaust(world, 9n);
    const link = world.connect();
    let isLost = false;
    let again: Leadership | undefined;
    // Before the operator looks again, a member is elected in the term that was lowered.
    const store: Store = relay(link, {
      compareAndSwap: async (changes, options) => {
        if (isLost) return link.compareAndSwap(changes, options);
        isLost = true;
        link.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
        const answer = link.compareAndSwap(changes, options);
        await answer.catch(() => {});
        again = await world.member('a').election(NAME).campaign();
        return answer;
      },
    });
    expect(await world.run(operator(world, store).lowerTermUnsafely(9n, 8n))).toBe(true);
    await world.pass(100);
    expect([again?.term, again?.isValid()]).toEqual([9n, true]);
  });

  it('and an observer shows the lower term, with the reason termReset', async () => {
    const world = new World();
    await world.run(world.member('a').election(NAME, { minTerm: 9n }).campaign());
    const observer = world.observer();
    const shown: string[] = [];
    observer.subscribe((view) =>
      shown.push(`${view.state} ${'term' in view ? view.term : ''} ${'reason' in view ? view.reason : ''}`.trim()),
    );
    await world.pass(20);
    track(world.member('b').election(NAME).campaign());
    await world.pass(20);
    await world.run(operator(world).lowerTermUnsafely(9n, 3n));
    await world.pass(2 * TTL_MS);
    expect(shown.slice(1)).toEqual(['leader 9', 'vacant 3 termReset', 'leader 4']);
  });
});
