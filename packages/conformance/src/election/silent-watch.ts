/** What candidates do when their watches tell nothing any more while calls go through: one server of a cluster hangs, and another one answers. */

import assert from 'node:assert/strict';
import type { Leadership, Store } from '@incumbent/core';
import { around } from '../around.ts';
import type { StoreCase } from '../case.ts';
import type { Arena, Seat } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('succession');

/** How many ttls a waiting candidate may let pass between two reads of its own, at the most. */
const TTLS_BETWEEN_LOOKS = 3 * 1.25;

/** A store whose watches can be silenced: from then on they show nothing and do not say that they are stale. */
function silenceable(store: Store): { readonly store: Store; silence(): void } {
  let isSilent = false;
  async function* heard<T>(states: AsyncIterable<T>): AsyncIterable<T> {
    for await (const state of states) if (!isSilent) yield state;
  }
  return {
    store: {
      ...around(store, (_, go) => go()),
      watch: (...args) => heard(store.watch(...args)),
      watchList: (...args) => heard(store.watchList(...args)),
    },
    silence: () => {
      isSilent = true;
    },
  };
}

interface Scene {
  readonly leader: Seat;
  readonly leadership: Leadership;
  /** Resolves with the term in which the waiting candidate leads; its watches are silent. */
  readonly next: Promise<bigint>;
  readonly withinMs: number;
}

async function open(arena: Arena): Promise<Scene> {
  const leader = await arena.seat('leader');
  const { store, silence } = silenceable(await arena.open());
  const waiting = arena.seatOn(store, 'waiting');
  const leadership = await arena.campaign(leader);
  const next = arena.campaign(waiting).then(({ term }) => term);
  next.catch(() => {});
  await arena.queued(leader, 'waiting');
  // The first states of its watches have come.
  await arena.sleep(arena.harness.slackMs);
  silence();
  return { leader, leadership, next, withinMs: arena.failoverMs(store) + TTLS_BETWEEN_LOOKS * waiting.member.timing.ttlMs };
}

async function leadsNext(arena: Arena, { next, withinMs }: Scene): Promise<void> {
  let term: bigint | undefined;
  void next.then((led) => {
    term = led;
  });
  await arena.until(() => term !== undefined, 'the candidate with silent watches leads', withinMs);
  assert.equal(term, arena.term(2n));
}

export const silentWatchCases: readonly StoreCase[] = [
  define('a candidate whose watches have gone silent leads after a resignation, as it reads now and then', async (arena) => {
    const scene = await open(arena);
    await scene.leadership.resign();
    await leadsNext(arena, scene);
  }),

  define('a candidate whose watches have gone silent leads after the leader has died, as it reads now and then', async (arena) => {
    const scene = await open(arena);
    scene.leader.clock.pause();
    await leadsNext(arena, scene);
    scene.leader.clock.resume();
  }),
];
