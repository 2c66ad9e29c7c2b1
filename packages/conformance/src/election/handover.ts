/** Handover to a named candidate. */

import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { begun } from '../time.ts';
import { endOf, leaderAndTwo, NAME } from './arena.ts';
import { electionCasesOf } from './define.ts';

// No lease expires where a case does not mean it to.
const define = electionCasesOf('handover', true);

export const handoverCases: readonly StoreCase[] = [
  define('leadership passes to the named candidate, past those before it', async (arena) => {
    const [a, b, c] = [await arena.member('a'), await arena.member('b'), await arena.member('c')];
    const first = await arena.campaign(a);
    const asB = arena.campaign(b);
    await arena.queued(a, 'b');
    const asC = arena.campaign(c, { value: { host: 'c' } });
    await arena.queued(a, 'c');
    await first.handover('c');
    const end = await endOf(arena, first, arena.soonMs);
    assert.deepEqual([end.reason, end.lost], ['handover', false]);
    const second = await asC;
    assert.deepEqual([second.memberId, second.term], ['c', arena.term(2n)]);
    const shown = await arena.observer(b.store).leader();
    assert.deepEqual(shown?.value, { host: 'c' });
    await second.resign();
    assert.equal((await asB).term, arena.term(3n));
  }),

  define('without a name, leadership passes to the next in succession', async (arena) => {
    const [a, b, c] = [await arena.member('a'), await arena.member('b'), await arena.member('c')];
    const first = await arena.campaign(a);
    const asB = arena.campaign(b);
    await arena.queued(a, 'b');
    const cancel = new AbortController();
    const asC = arena.campaign(c, undefined, cancel.signal);
    await arena.queued(a, 'c');
    await first.handover();
    assert.equal((await asB).memberId, 'b');
    cancel.abort();
    await assert.rejects(asC);
  }),

  define('a handover to somebody who is no candidate is refused, and leadership goes on', async (arena) => {
    const first = await arena.campaign(await arena.member('a'));
    await assert.rejects(first.handover('nobody'), (error) => isIncumbentError(error, 'NO_SUCH_CANDIDATE'));
    await assert.rejects(first.handover(), (error) => isIncumbentError(error, 'NO_SUCH_CANDIDATE'));
    assert.equal(first.isValid(), true);
  }),

  define('the work has stopped before the successor is elected', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const log: string[] = [];
    const cancel = new AbortController();
    const leading = begun(
      a.member.election(NAME).lead(
        async (leadership) => {
          arena.record(leadership);
          await leadership.ended;
          await arena.sleep(arena.ttlMs / 40);
          log.push('stopped');
        },
        { signal: cancel.signal },
      ),
    );
    await arena.until(() => a.member.election(NAME).leadership !== undefined, 'a leads');
    const next = begun(
      arena.campaign(b).then((leadership) => {
        log.push('elected');
        return leadership;
      }),
    );
    await arena.queued(a, 'b');
    await a.member.shutdown({ handover: 'next' });
    assert.equal(await leading, undefined);
    assert.equal((await next).term, arena.term(2n));
    assert.deepEqual(log, ['stopped', 'elected']);
  }),

  define('work that hands over by itself is not waited for by its own handover', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const cancel = new AbortController();
    const leading = a.member.election(NAME).lead(
      async (leadership) => {
        arena.record(leadership);
        await arena.until(async () => (await a.member.election(NAME).candidates()).length === 2, 'b is in the queue');
        const from = arena.now();
        await leadership.handover('b');
        assert.ok(arena.now() - from <= arena.soonMs);
        cancel.abort(new Error('done'));
      },
      { signal: cancel.signal },
    );
    leading.catch(() => {});
    await arena.until(() => a.member.election(NAME).leadership !== undefined, 'a leads');
    const next = await arena.campaign(b);
    assert.equal(next.term, arena.term(2n));
    await assert.rejects(leading, /done/);
  }),

  define('members that shut down one after the other pass leadership on, and the last one leaves the election vacant', async (arena) => {
    const observer = await arena.member('observer');
    const candidates = [await arena.member('a'), await arena.member('b'), await arena.member('c')];
    const turns: string[] = [];
    const leading = candidates.map((candidate) =>
      begun(
        candidate.member.election(NAME).lead(async (leadership) => {
          arena.record(leadership);
          turns.push(leadership.memberId);
          await leadership.ended;
        }),
      ),
    );
    await arena.until(async () => (await observer.member.election(NAME).candidates()).length === 3, 'all are in the queue');
    await arena.until(() => turns.length > 0, 'the first one leads');
    while (turns.length < 3) {
      const leader = candidates.find(({ member }) => member.memberId === turns.at(-1));
      assert.ok(leader !== undefined);
      const before = turns.length;
      await leader.member.shutdown();
      await arena.until(() => turns.length > before, 'the next one leads');
    }
    await candidates.find(({ member }) => member.memberId === turns.at(-1))?.member.shutdown();
    await Promise.all(leading);
    const shown = arena.observer(await arena.open());
    await arena.sees(shown, (view) => view.state === 'vacant' && view.reason === 'memberClosed', 'the last end');
  }),

  define(
    'a successor that is cut off does not keep the election from going on',
    async (arena) => {
      const b = await arena.faultyMember('b');
      const { first, second, cancel, third } = await leaderAndTwo(arena, [await arena.member('a'), b, await arena.member('c')]);
      await b.faults.cut();
      await first.handover('b');
      assert.equal((await third).memberId, 'c');
      cancel.abort();
      await assert.rejects(second);
      await b.faults.heal();
    },
    { faults: ['cut'], calm: false },
  ),
];
