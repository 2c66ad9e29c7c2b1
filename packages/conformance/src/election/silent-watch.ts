/**
 * What members and observers do when their watches report nothing while calls succeed: one server
 * of a cluster hangs, and another one answers.
 */

import assert from 'node:assert/strict';
import type { ElectionView, Leadership, Store } from '@incumbent/core';
import { intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import type { FaultKind } from '../harness.ts';
import { begun } from '../time.ts';
import type { Arena, TestMember } from './arena.ts';
import { electionCasesOf } from './define.ts';

/** The longest time between two reads of a waiting candidate, in ttls. */
const TTLS_BETWEEN_LOOKS = 3 * 1.25;

/** The longest time between two reads of the observers of an election, in ms. */
const OBSERVERS_LOOK_MS = 1.25 * 15_000;

/** A store whose watches can be silenced. */
interface Silenceable {
  readonly store: Store;
  silence(): Promise<void>;
  /** How long an observer may show a state that is no longer current, in ms. */
  readonly noticedWithinMs: number;
  /**
   * Ends the silence, if it ends. An observer that knows of the silence may learn nothing before.
   */
  heal(): Promise<void>;
}

interface Silence {
  /** Used in the names of cases. */
  readonly of: string;
  readonly faults: readonly FaultKind[];
  open(arena: Arena): Promise<Silenceable>;
}

/** Watches report nothing from then on, and do not become stale. */
const unnoticed: Silence = {
  of: 'that its store does not notice',
  faults: [],
  open: async (arena) => silenceable(await arena.open()),
};

function silenceable(store: Store): Silenceable {
  let isSilent = false;
  async function* heard<T>(states: AsyncIterable<T>): AsyncIterable<T> {
    for await (const state of states) if (!isSilent) yield state;
  }
  return {
    store: {
      ...intercept(store, (_, go) => go()),
      watch: (...args) => heard(store.watch(...args)),
      watchList: (...args) => heard(store.watchList(...args)),
    },
    silence: async () => {
      isSilent = true;
    },
    noticedWithinMs: OBSERVERS_LOOK_MS,
    heal: async () => {},
  };
}

/** The server reports nothing to the open watches, and the store's client notices. */
const ofServer: Silence = {
  of: 'of the server',
  faults: ['silenceWatches'],
  open: async (arena) => {
    const { store, faults, noticesWithinMs } = await arena.openFaulty('silenceWatches');
    return { store, silence: () => faults.silenceWatches(), noticedWithinMs: noticesWithinMs, heal: () => faults.heal() };
  },
};

interface Scene {
  readonly leader: TestMember;
  readonly leadership: Leadership;
  /**
   * Resolves with the term in which the waiting candidate leads although its watches are silent.
   */
  readonly next: Promise<bigint>;
  readonly withinMs: number;
}

async function open(arena: Arena, silence: Silence): Promise<Scene> {
  const leader = await arena.member('leader');
  const silent = await silence.open(arena);
  const waiting = arena.memberOn(silent.store, 'waiting');
  const leadership = await arena.campaign(leader);
  const next = begun(arena.campaign(waiting).then(({ term }) => term));
  await arena.queued(leader, 'waiting');
  // Wait for the first states of its watches.
  await arena.sleep(arena.harness.slackMs);
  await silent.silence();
  return { leader, leadership, next, withinMs: arena.failoverMs(silent.store) + TTLS_BETWEEN_LOOKS * waiting.member.timing.ttlMs };
}

async function leadsNext(arena: Arena, { next, withinMs }: Scene): Promise<void> {
  let term: bigint | undefined;
  void begun(
    next.then((led) => {
      term = led;
    }),
  );
  await arena.until(() => term !== undefined, 'the candidate with silent watches leads', withinMs);
  assert.equal(term, arena.term(2n));
}

/**
 * Most cases are calm: a candidate that was given the term learns of it late, and must keep its
 * lease until then.
 */
function casesOf(silence: Silence): readonly StoreCase[] {
  const define = (
    area: 'succession' | 'handover' | 'observer',
    name: string,
    body: (arena: Arena) => Promise<void>,
    calm = true,
  ): StoreCase => electionCasesOf(area)(`through a silence ${silence.of}, ${name}`, body, { faults: silence.faults, calm });
  return [
    define('succession', 'a waiting candidate leads after a resignation', async (arena) => {
      const scene = await open(arena, silence);
      await scene.leadership.resign();
      await leadsNext(arena, scene);
    }),

    define(
      'succession',
      'a waiting candidate leads after the leader has died',
      async (arena) => {
        const scene = await open(arena, silence);
        scene.leader.clock.pause();
        await leadsNext(arena, scene);
        scene.leader.clock.resume();
      },
      // No candidate is given a term that it does not know of, so the leases may be short.
      false,
    ),

    define('handover', 'the named candidate learns that it leads', async (arena) => {
      const scene = await open(arena, silence);
      await scene.leadership.handover('waiting');
      await leadsNext(arena, scene);
    }),

    define('handover', 'the next candidate leads after the leader’s shutdown', async (arena) => {
      const scene = await open(arena, silence);
      await scene.leader.member.shutdown({ handover: 'next' });
      await leadsNext(arena, scene);
    }),

    define('observer', 'an observer does not go on to show a leader that has resigned', async (arena) => {
      const [a, b] = [await arena.member('a'), await arena.member('b')];
      const first = await arena.campaign(a);
      const silent = await silence.open(arena);
      const observer = arena.observer(silent.store);
      await arena.sees(observer, (view) => view.state === 'leader' && view.memberId === 'a', 'the first leader');
      await silent.silence();
      await first.resign();
      const second = await arena.campaign(b);
      const isFirst = (view: ElectionView): boolean => view.state === 'leader' && view.term === first.term;
      // Adds the time of a few more calls, which may fail once.
      await arena.sees(observer, (view) => !isFirst(view), 'the first leader no longer', silent.noticedWithinMs + arena.soonMs);
      await silent.heal();
      await arena.sees(observer, (view) => view.state === 'leader' && view.term === second.term, 'the next leader', 2 * arena.soonMs);
    }),
  ];
}

export const silentWatchCases: readonly StoreCase[] = [...casesOf(unnoticed), ...casesOf(ofServer)];
