/** Changes to an election by an operator. */

import assert from 'node:assert/strict';
import { ElectionAdmin, isIncumbentError, listElections } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { endOf, NAME } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('operator');

export const operatorCases: readonly StoreCase[] = [
  define('a leader that an operator makes step down stops first, and then the next one is elected', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const first = await arena.campaign(a);
    const asB = arena.campaign(b);
    await arena.queued(a, 'b');
    const store = await arena.open();
    const operator = new ElectionAdmin(store, NAME);
    assert.equal(await operator.stepDown(arena.term(7n)), false);
    assert.equal(first.isValid(), true);
    assert.equal(await operator.stepDown(first.term), true);
    const end = await endOf(arena, first, arena.soonMs);
    assert.deepEqual([end.reason, end.lost], ['steppedDown', false]);
    assert.equal((await asB).term, arena.term(2n));
    const leader = await arena.observer(store).leader();
    assert.deepEqual(leader?.previous, { term: first.term, memberId: 'a', reason: 'steppedDown' });
    assert.equal(await operator.stepDown(first.term), false);
  }),

  define('a leader hands over to the candidate that an operator names, past those before it', async (arena) => {
    const [a, b, c] = [await arena.member('a'), await arena.member('b'), await arena.member('c')];
    const first = await arena.campaign(a);
    const cancel = new AbortController();
    const asB = arena.campaign(b, undefined, cancel.signal);
    await arena.queued(a, 'b');
    const asC = arena.campaign(c, { value: { host: 'c' } });
    await arena.queued(a, 'c');
    const operator = new ElectionAdmin(await arena.open(), NAME);
    await assert.rejects(operator.requestHandover(first.term, 'a'), (error) => isIncumbentError(error, 'NO_SUCH_CANDIDATE'));
    assert.equal(await operator.requestHandover(first.term, 'c'), true);
    const end = await endOf(arena, first, arena.soonMs);
    assert.deepEqual([end.reason, end.lost], ['handover', false]);
    const second = await asC;
    assert.deepEqual([second.memberId, second.term], ['c', arena.term(2n)]);
    assert.equal(await operator.requestHandover(first.term, 'b'), false);
    cancel.abort();
    await assert.rejects(asB);
  }),

  define('an operator sees who leads, who waits, and which elections there are', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const first = await arena.campaign(a, { value: { host: 'a' } });
    const cancel = new AbortController();
    const asB = arena.campaign(b, undefined, cancel.signal);
    await arena.queued(a, 'b');
    const store = await arena.open();
    const operator = new ElectionAdmin(store, NAME);
    const state = await operator.state();
    assert.deepEqual([state.term, state.leader?.memberId, state.leader?.value, state.stopping], [first.term, 'a', { host: 'a' }, false]);
    assert.deepEqual(
      state.candidates.map(({ memberId, leads }) => [memberId, leads]),
      [
        ['a', true],
        ['b', false],
      ],
    );
    assert.deepEqual(await listElections(store), [NAME]);
    cancel.abort();
    await assert.rejects(asB);
  }),
];
