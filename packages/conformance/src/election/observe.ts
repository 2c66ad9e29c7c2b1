/** What observers show. */

import assert from 'node:assert/strict';
import type { ElectionView } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { NAME, type Arena } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('observer');

function brief(view: ElectionView): string {
  switch (view.state) {
    case 'leader':
      return `${view.memberId}@${view.term}`;
    case 'vacant':
      return `vacant: ${view.reason}`;
    case 'unknown':
      return 'unknown';
    default:
      return view satisfies never;
  }
}

/** Every view in words, without repetitions. */
function log(arena: Arena, store: Parameters<Arena['observer']>[0]): string[] {
  const views: string[] = [];
  arena.observer(store).subscribe((view) => {
    const words = brief(view);
    if (views.at(-1) !== words) views.push(words);
  });
  return views;
}

export const observeCases: readonly StoreCase[] = [
  define('before anyone campaigned the election is vacant: neverLed', async (arena) => {
    const store = await arena.open();
    const observer = arena.observer(store);
    assert.equal(observer.current.state, 'unknown');
    await observer.ready;
    assert.deepEqual(observer.current, { state: 'vacant', reason: 'neverLed' });
    assert.equal(await observer.leader(), undefined);
  }),

  define('an observer sees who leads, in which term, with which value, and why it ended', async (arena) => {
    const views = log(arena, await arena.open());
    await arena.until(() => views.at(-1) === 'vacant: neverLed', 'nobody has led');
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const first = await arena.campaign(a);
    await arena.until(() => views.at(-1) === `a@${arena.term(1n)}`, 'a leads');
    await first.resign();
    await arena.until(() => views.at(-1) === 'vacant: resigned', 'a has resigned');
    await arena.campaign(b);
    await arena.until(() => views.at(-1) === `b@${arena.term(2n)}`, 'b leads');
    await b.member.close();
    await arena.until(() => views.at(-1) === 'vacant: memberClosed', 'b was closed');
    assert.deepEqual(views, [
      'unknown',
      'vacant: neverLed',
      `a@${arena.term(1n)}`,
      'vacant: resigned',
      `b@${arena.term(2n)}`,
      'vacant: memberClosed',
    ]);
  }),

  define(
    'an expired leader is shown as expired',
    async (arena) => {
      const views = log(arena, await arena.open());
      await arena.until(() => views.at(-1) === 'vacant: neverLed', 'nobody has led');
      const a = await arena.faultyMember('a');
      await arena.campaign(a);
      await arena.until(() => views.at(-1) === `a@${arena.term(1n)}`, 'a leads');
      await a.faults.cut();
      await arena.until(() => views.at(-1) === 'vacant: expired', 'the lease has expired', arena.failoverMs(a.store));
      await a.faults.heal();
      assert.deepEqual(
        views.filter((view) => view.startsWith('vacant: ')),
        ['vacant: neverLed', 'vacant: expired'],
      );
    },
    { faults: ['cut'] },
  ),

  define(
    'an observer that is cut off says that it does not know, and catches up',
    async (arena) => {
      const client = await arena.openFaulty();
      const observer = arena.observer(client.store);
      const a = await arena.member('a');
      const first = await arena.campaign(a);
      await arena.sees(observer, (view) => view.state === 'leader', 'a leads');
      await client.faults.cut();
      await arena.sees(observer, (view) => view.state === 'unknown', 'that it does not know', client.noticesWithinMs + arena.soonMs);
      const { current } = observer;
      assert.ok(current.state === 'unknown' && current.last?.state === 'leader' && current.last.term === arena.term(1n));
      await first.resign();
      const again = await arena.campaign(a);
      await client.faults.heal();
      const isNew = (view: ElectionView): boolean => view.state === 'leader' && view.term === again.term;
      await arena.sees(observer, isNew, 'the new term', client.recoversWithinMs + arena.soonMs);
    },
    { faults: ['cut'] },
  ),

  define('a subscriber that throws harms nobody', async (arena) => {
    const observer = arena.observer(await arena.open());
    observer.subscribe(() => {
      throw new Error('a bad subscriber');
    });
    const seen: string[] = [];
    observer.subscribe((view) => seen.push(brief(view)));
    await arena.campaign(await arena.member('a'));
    await arena.until(() => seen.includes(`a@${arena.term(1n)}`), 'the other subscriber sees the leader');
  }),

  define('views yields the view now and the latest after every change, and ends quietly', async (arena) => {
    const observer = arena.observer(await arena.open());
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const view of observer.views({ signal: stop.signal })) seen.push(brief(view));
    })();
    await arena.campaign(await arena.member('a'));
    await arena.until(() => seen.at(-1) === `a@${arena.term(1n)}`, 'the leader is seen');
    stop.abort();
    await reading;
    for await (const view of observer.views()) {
      assert.equal(brief(view), `a@${arena.term(1n)}`);
      break;
    }
  }),

  define(
    'a lower term is shown only as termReset, after it was confirmed',
    async (arena) => {
      const a = await arena.member('a');
      const first = await arena.campaign(a, { minTerm: 2n ** 61n });
      const observer = arena.observer(await arena.open());
      await arena.sees(observer, (view) => view.state === 'leader' && view.term === 2n ** 61n, 'its term');
      await first.resign();
      await arena.sees(observer, (view) => view.state === 'vacant', 'the vacancy');
      await a.member.close();
      // Deletes the term, as if the store had lost all data.
      await arena.operator.deleteKey(`elections/${NAME}/term`);
      await a.store.close();
      const b = await arena.member('b');
      const second = await b.member.election('other').campaign();
      await second.resign();
      const raw = await b.store.read('elections/other/term', { timeoutMs: arena.harness.timeoutMs });
      assert.ok(raw !== undefined);
      await arena.operator.put(
        `elections/${NAME}/leader`,
        new TextEncoder().encode('{"v":1,"term":"3","memberId":"z","incarnation":"0","entry":"x"}'),
      );
      const isReset = (view: ElectionView): boolean => view.state === 'leader' && view.term === 3n && view.reason === 'termReset';
      await arena.sees(observer, isReset, 'the reset');
      await arena.operator.deleteKey(`elections/${NAME}/leader`);
    },
    { needs: ['operator'] },
  ),
];
