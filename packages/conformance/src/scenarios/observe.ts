/**
 * What observers show: scenarios of etcd's observers, and the guarantees for watches that etcd's
 * robustness tests and Jepsen check.
 */

import assert from 'node:assert/strict';
import type { ElectionObserver, ElectionView } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { endOf, type Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import type { FaultyClient } from '../harness.ts';
import { times } from '../combinations.ts';

const define = electionCasesOf('etcd');
const defineJepsen = electionCasesOf('Jepsen');

/** A published value: who published it, in which of its terms, and its number within the term. */
interface Word {
  readonly by: string;
  readonly n: number;
}

/** A state that an observer has shown. */
interface Shown extends Word {
  readonly term: bigint;
  readonly memberId: string;
}

function isWord(value: unknown): value is Word {
  return (
    typeof value === 'object' &&
    value !== null &&
    'by' in value &&
    typeof value.by === 'string' &&
    'n' in value &&
    typeof value.n === 'number'
  );
}

/** What one observer has shown. */
interface Shows {
  /** Every leader. */
  readonly shown: readonly Shown[];
  /** The values that nobody has published. */
  readonly others: readonly unknown[];
}

/**
 * Collects every leader that this observer shows. An error that a subscriber throws is only
 * reported to telemetry, so the case itself must check `others`.
 */
function shownBy(observer: ElectionObserver): Shows {
  const shown: Shown[] = [];
  const others: unknown[] = [];
  observer.subscribe((view: ElectionView) => {
    if (view.state !== 'leader') return;
    if (isWord(view.value)) shown.push({ ...view.value, term: view.term, memberId: view.memberId });
    else others.push(view.value);
  });
  return { shown, others };
}

function isLater(a: Shown, b: Shown): boolean {
  return b.term > a.term || (b.term === a.term && b.n > a.n);
}

/** Breaks and heals links until it is stopped. The links work afterwards. */
function flapping(arena: Arena, clients: readonly FaultyClient[]): { stop(): Promise<void> } {
  let isOver = false;
  const flapped = (async () => {
    while (!isOver) {
      for (const { faults } of clients) await faults.reset();
      await arena.sleep(arena.ttlMs / 8);
    }
    for (const { faults } of clients) await faults.heal();
  })();
  return {
    stop: async () => {
      isOver = true;
      await flapped;
    },
  };
}

export const observeScenarios: readonly StoreCase[] = [
  define(
    'B07 each value is seen once, in the order of publishing (etcd TestElectionObserveFreshResponsesOnProclaim)',
    async (arena) => {
      const observer = arena.observer(await arena.open());
      const { shown, others } = shownBy(observer);
      const leadership = await arena.campaign(await arena.member('a'), { value: { by: 'a', n: 1 } });
      for (const n of [2, 3]) {
        await arena.until(() => shown.length === n - 1, `value ${n - 1} is seen`);
        await leadership.publish({ by: 'a', n });
      }
      await arena.until(() => shown.length === 3, 'value 3 is seen');
      await arena.sleep(arena.ttlMs / 4);
      assert.deepEqual(others, [], 'nothing but what was published');
      assert.deepEqual(
        shown.map(({ n, term }) => [n, term]),
        [1, 2, 3].map((n) => [n, leadership.term]),
      );
    },
    { calm: true },
  ),

  define(
    'B16 on a link that flaps, through five terms: nothing is shown out of order, twice or mixed up, and the last state always comes (etcd robustness: Ordered, Unique, Atomic, Reliable, Resumable, Bookmarkable)',
    async (arena) => {
      const client = await arena.openFaulty();
      const observer = arena.observer(client.store);
      const { shown, others } = shownBy(observer);
      const published = new Map<string, Pick<Shown, 'term' | 'memberId'>>();
      const link = flapping(arena, [client]);
      let last: Word = { by: '', n: 0 };
      for (let round = 0; round < 5; round += 1) {
        const by = `m${round}`;
        last = { by, n: 0 };
        const leadership = await arena.campaign(await arena.member(by), { value: last });
        const { term, memberId } = leadership;
        published.set(`${by} 0`, { term, memberId });
        for (const n of [1, 2, 3]) {
          last = { by, n };
          published.set(`${by} ${n}`, { term, memberId });
          await leadership.publish(last);
          await arena.sleep(arena.ttlMs / 20);
        }
        if (round < 4) await leadership.resign();
      }
      await link.stop();
      const isLast = (one: Shown | undefined): boolean => one?.by === last.by && one.n === last.n;
      await arena.until(() => isLast(shown.at(-1)), 'the last state comes', client.recoversWithinMs + arena.soonMs);
      assert.deepEqual(others, [], 'nothing but what was published');
      for (const [index, one] of shown.entries()) {
        const { term, memberId } = one;
        assert.deepEqual(published.get(`${one.by} ${one.n}`), { term, memberId }, 'a value, its term and its member');
        const before = shown[index - 1];
        assert.ok(
          before === undefined || isLater(before, one) || isSameAgain(before, one),
          `${one.by} ${one.n} after ${before?.by} ${before?.n}`,
        );
      }
    },
    { faults: ['reset'], calm: true },
  ),

  defineJepsen(
    'F04 four who watch, two of them through links that flap, are shown parts of one list, in its order and up to its end (Jepsen etcd watch)',
    async (arena) => {
      const flaky = [await arena.openFaulty(), await arena.openFaulty()];
      const stores = [await arena.open(), await arena.open(), ...flaky.map(({ store }) => store)];
      const watching = stores.map((store) => shownBy(arena.observer(store)));
      const lists = watching.map(({ shown }) => shown);
      const link = flapping(arena, flaky);
      const leadership = await arena.campaign(await arena.member('a'), { value: { by: 'a', n: 0 } });
      for (const n of times(30)) await leadership.publish({ by: 'a', n: n + 1 });
      await link.stop();
      const withinMs = Math.max(...flaky.map(({ recoversWithinMs }) => recoversWithinMs)) + arena.soonMs;
      await arena.until(() => lists.every((list) => list.at(-1)?.n === 30), 'all are shown the end of it', withinMs);
      assert.deepEqual(
        watching.flatMap(({ others }) => others),
        [],
        'nothing but what was published',
      );
      for (const list of lists) {
        const words = list.filter((one, index) => index === 0 || !isSameAgain(list[index - 1]!, one));
        assert.ok(
          words.every((one, index) => index === 0 || isLater(words[index - 1]!, one)),
          `in order: ${words.map(({ n }) => n).join(' ')}`,
        );
      }
      await leadership.resign();
      await endOf(arena, leadership, arena.soonMs);
    },
    { faults: ['reset'], calm: true },
  ),
];

/** A resumed watch may report its last state again. */
function isSameAgain(a: Shown, b: Shown): boolean {
  return a.term === b.term && a.by === b.by && a.n === b.n;
}
