/**
 * Members that lead, publish, resign, hand over and give up at random, on links that fail at
 * random: at most one is valid at a time, and there is always a next leader.
 */

import type { MemoryStore, Operation } from '@incumbent/memory';
import { numberVariable } from '@incumbent/test-support/number-option';
import { describe, expect, it } from 'vitest';
import {
  byPriority,
  ElectionObserver,
  firstComeFirstServed,
  type Leadership,
  Member,
  type OnDuplicate,
  type Random,
  type Store,
} from '../../src/index.ts';
import { PausableClock } from '../../src/testing.ts';
import { seeded } from '../support/random.ts';
import { relay } from '../support/relay.ts';
import { NAME, TERM, World } from '../support/world.ts';

interface Participant {
  readonly id: string;
  readonly i: number;
  readonly store: MemoryStore;
  readonly clock: PausableClock;
  readonly member: Member;
  crashed: boolean;
}

interface Config {
  readonly seed: number;
  readonly assignableLease: boolean;
  readonly revisionsSurviveDeletion: boolean;
  readonly hold: readonly Operation[];
  readonly pauses: boolean;
  /**
   * Whether an operator deletes keys: a leader's record, a member's key, the entry of one that
   * waits.
   */
  readonly operator: boolean;
  /** Whether another process takes a member's id while that lives. */
  readonly takeovers: boolean;
}

const TTL_MS = 2_000;
const FAULTS_MS = 40_000;

async function run({
  seed,
  assignableLease,
  revisionsSurviveDeletion,
  hold,
  pauses,
  operator,
  takeovers,
}: Config): Promise<readonly string[]> {
  const problems: string[] = [];
  const world = new World({ assignableLease, revisionsSurviveDeletion });
  const random = seeded(seed);
  const under = (n: number): number => random.u32() % n;
  const leaderships = new Set<Leadership>();
  let highest = 0n;
  let calm = false;
  let over = false;
  const priority = under(2) === 0;
  const now = (): number => world.clock.monotonic();
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void world.clock.schedule(ms, resolve));
  const look = (): void => {
    const valid = [...leaderships].filter((one) => one.isValid());
    if (valid.length > 1) problems.push(`${now()}: ${valid.map((b) => `${b.memberId}@${b.term}`).join(' and ')} are valid`);
  };
  /** Calls that fail take a moment: see 'an aborted campaign does not block the event loop'. */
  const slowToFail = (store: Store): Store => {
    const slow =
      <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
      (...args: A): Promise<T> =>
        call(...args).catch(async (error: unknown) => {
          await sleep(5);
          throw error;
        });
    return relay(store, {
      compareAndSwap: slow((...a) => store.compareAndSwap(...a)),
      enqueue: slow((...a) => store.enqueue(...a)),
      read: slow((...a) => store.read(...a)),
      list: slow((...a) => store.list(...a)),
    });
  };
  const join = (id: string, i: number, onDuplicate: OnDuplicate = 'wait'): Participant => {
    const store = world.server.connect({ latencyMs: () => 1 + (random.u32() % 5) });
    const clock = new PausableClock(world.clock);
    const member = new Member(slowToFail(store), { memberId: id, ttlMs: TTL_MS, clock, random: seeded(random.u32()), onDuplicate });
    return { id, store, clock, member, i, crashed: false };
  };
  const participants = ['a', 'b', 'c', 'd'].slice(0, 2 + under(3)).map((id, i) => join(id, i));
  const all = [...participants];
  const work = async (leadership: Leadership, mine: Random): Promise<void> => {
    leaderships.add(leadership);
    void leadership.ended.then(() => leaderships.delete(leadership));
    look();
    if (leadership.term <= highest) problems.push(`${now()}: term ${leadership.term} after ${highest}`);
    highest = leadership.term;
    for (;;) {
      await Promise.race([sleep(50 + (mine.u32() % 1500)), leadership.ended]);
      if (!leadership.isValid()) return;
      const dice = mine.u32() % 8;
      if (dice === 0) return;
      if (dice === 1) return leadership.handover().catch(() => {});
      if (dice === 2) await leadership.publish({ n: dice }).catch(() => {});
      if (dice === 3) await leadership.resign();
      if (dice === 4) throw new Error('work');
    }
  };
  const take = async (participant: Participant): Promise<void> => {
    const { member, i, id } = participant;
    const mine = seeded(random.u32());
    const election = member.election(NAME, { succession: priority ? byPriority(i) : firstComeFirstServed(), value: { id } });
    while (!over && !participant.crashed) {
      const aborter = new AbortController();
      if (!calm && mine.u32() % 2 === 0) world.clock.schedule(mine.u32() % 5_000, () => aborter.abort());
      try {
        await election.lead((leadership) => work(leadership, mine), { signal: aborter.signal });
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : '';
        if (code === 'DUPLICATE_MEMBER' && takeovers) return member.close();
        if ((code === 'DUPLICATE_MEMBER' && !pauses) || code === 'FOREIGN_DATA' || error instanceof TypeError)
          problems.push(`${now()}: ${id}: ${String(error)}`);
      }
      await sleep(1 + (mine.u32() % 300));
    }
  };
  const runs = participants.map(take);
  /** The process stops for ever, and its link with it; another one starts under its name. */
  const restart = (at: number): void => {
    const former = participants[at];
    if (former === undefined) return;
    former.crashed = true;
    former.clock.pause();
    former.store.link.cutOff();
    const participant = join(former.id, former.i);
    participants[at] = participant;
    all.push(participant);
    runs.push(take(participant));
  };
  /** Another process takes the id, while the former one runs on. */
  const takeOver = (at: number): void => {
    const former = participants[at];
    if (former === undefined) return;
    const participant = join(former.id, former.i, 'replace');
    participants[at] = participant;
    all.push(participant);
    runs.push(take(participant));
  };
  /**
   * Everything but the term, and the entry of whom it names: who deletes that, and cannot tell its
   * leader, makes two of them.
   */
  const meddle = (): void => {
    const holder = world.json(TERM)?.['entry'];
    const keys = world.server.keys().filter((key) => key !== TERM && key !== holder);
    const key = keys[under(Math.max(keys.length, 1))];
    if (key !== undefined) world.server.deleteKey(key);
  };
  const observer = new ElectionObserver(world.connect(), NAME, { clock: world.clock, random: seeded(5) });
  let shown = 0n;
  observer.subscribe((view) => {
    if (view.state === 'unknown' || view.term === undefined) return;
    if (view.term < shown) problems.push(`${now()}: observer went back from ${shown} to ${view.term}`);
    shown = view.term;
  });
  while (now() < FAULTS_MS) {
    await world.pass(10);
    look();
    if (operator && under(300) === 0) meddle();
    if (takeovers && under(600) === 0) takeOver(under(participants.length));
    if (under(60) !== 0) continue;
    const participant = participants[under(participants.length)];
    if (participant === undefined) continue;
    const { link } = participant.store;
    const dice = under(pauses ? 12 : 9);
    if (dice === 0) link.cutOff();
    else if (dice === 1) link.refuse();
    else if (dice === 2) link.stall();
    else if (dice === 3) link.reset();
    else if (dice === 4) link.dropReplies(1 + under(4));
    else if (dice === 5) link.dropRequests(1 + under(4), { how: under(2) === 0 ? 'reset' : 'timeout' });
    else if (dice === 6 && hold.length > 0) link.holdWrites(...hold);
    else if (dice === 7) link.delay(under(300));
    else if (dice === 8) link.release();
    else if (dice === 9) participant.clock.pause();
    else if (dice === 10) participant.clock.resume();
    else if (dice === 11) restart(participants.indexOf(participant));
    if (under(2) === 0) {
      const other = participants[under(participants.length)];
      other?.clock.resume();
      other?.store.link.heal();
    }
  }
  calm = true;
  for (const { store, clock } of all.filter(({ crashed }) => !crashed)) {
    clock.resume();
    store.link.heal();
  }
  // From here on somebody leads again and again.
  await world.pass(5 * TTL_MS);
  for (let round = 0; round < 4; round += 1) {
    const before = highest;
    const requests = Object.values(world.server.requests).reduce((a, b) => a + b, 0);
    await world.pass(6 * TTL_MS);
    look();
    const made = Object.values(world.server.requests).reduce((a, b) => a + b, 0) - requests;
    if (highest === before) problems.push(`${now()}: nobody was elected in 6 ttls`);
    if (made > 4_000) problems.push(`${now()}: ${made} requests in 6 ttls`);
  }
  over = true;
  await world.run(Promise.all(all.filter(({ crashed }) => !crashed).map(({ member }) => member.close())));
  await world.run(observer.close());
  await world.pass(5 * TTL_MS);
  if (!pauses) {
    await world.run(Promise.all(runs));
    if (world.clock.timers > 0) problems.push(`${world.clock.timers} timers left`);
    if (world.clock.holds > 0) problems.push(`${world.clock.holds} holds left`);
    if (world.server.watches.open > 0) problems.push(`${world.server.watches.open} watches left`);
  }
  if (world.server.leases().length > 0) problems.push('leases left');
  await world.server.close();
  return problems;
}

const WORLDS = numberVariable('WORLDS', 3, { from: 1 });
const FROM = numberVariable('FROM_SEED', 1, { from: 0 });
const holds: Readonly<Record<string, readonly Operation[]>> = {
  none: [],
  swaps: ['compareAndSwap', 'renewLease', 'revokeLease'],
  all: ['compareAndSwap', 'renewLease', 'revokeLease', 'enqueue'],
};

describe.each(Object.keys(holds))('with late writes: %s', (late) => {
  describe.each([true, false])('assignableLease %s', (assignableLease) => {
    it.each([true, false])(
      'revisionsSurviveDeletion %s',
      async (revisionsSurviveDeletion) => {
        const found: string[] = [];
        for (let seed = FROM; seed < FROM + WORLDS; seed += 1) {
          const hold = holds[late] ?? [];
          const who = { pauses: seed % 2 === 0, operator: seed % 3 === 0, takeovers: seed % 4 >= 2 };
          const problems = await run({ seed, assignableLease, revisionsSurviveDeletion, hold, ...who });
          if (problems.length > 0) found.push(`seed ${seed}: ${problems.slice(0, 3).join('; ')}`);
        }
        expect(found).toEqual([]);
      },
      600_000,
    );
  });
});
