/**
 * Random interleavings of updates with lost answers, lost and late requests, another program that
 * writes the same key, aborts and new leaders. No increment is lost or doubled where its update
 * said that it took place.
 */

import type { MemoryStore } from '@incumbent/memory';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isIncumbentError, outcomeOf, type Leadership, type Member, type ValueOptions } from '../../src/index.ts';
import { SEED } from '../support/property.ts';
import { track, type Tracked } from '../support/track.ts';
import { NAME, World } from '../support/world.ts';

const KEY = 'work/count';

/** The leaders count in `n`, and the other program in `others`. */
interface Count {
  readonly n: number;
  readonly others: number;
}

const NONE: Count = { n: 0, others: 0 };

type Step =
  | { readonly do: 'update'; readonly aborts: boolean }
  | { readonly do: 'otherProgram' | 'release' | 'resign' | 'abort' }
  | { readonly do: 'loseAnswers' | 'loseRequests'; readonly count: number; readonly how: 'timeout' | 'reset' }
  | { readonly do: 'hold'; readonly what: 'compareAndSwap' }
  | { readonly do: 'pass'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('update' as const), aborts: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('otherProgram' as const, 'otherProgram' as const, 'release' as const, 'abort' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resign' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('loseAnswers' as const, 'loseRequests' as const),
      count: fc.integer({ min: 1, max: 3 }),
      how: fc.constantFrom('timeout' as const, 'reset' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold' as const), what: fc.constant('compareAndSwap' as const) }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 2, 5, 10, 500, 3_000) }) },
);

/** How the updates of all runs ended, so that the test can check that each case occurred. */
const totals = { done: 0, unknown: 0, conflict: 0, ended: 0, retried: 0 };

class Run {
  readonly world = new World();
  readonly #members: readonly { readonly member: Member; readonly store: MemoryStore }[];
  readonly #updates: Tracked<Count>[] = [];
  #aborts: AbortController[] = [];
  #leader: { readonly store: MemoryStore; readonly leadership: Leadership } | undefined;
  #others = 0;

  constructor() {
    this.#members = ['a', 'b'].map((id) => {
      const store = this.world.connect({ latencyMs: 1 });
      return { store, member: this.world.member(id, {}, store) };
    });
  }

  async begin(): Promise<void> {
    for (const { member, store } of this.#members) {
      const goOn = async (): Promise<void> => {
        const leadership = await member.election(NAME).campaign();
        this.#leader = { store, leadership };
        void leadership.released.then(goOn).catch(() => {});
      };
      void goOn().catch(() => {});
    }
    await this.world.until(() => this.#leader !== undefined);
  }

  async take(next: Step): Promise<void> {
    switch (next.do) {
      case 'update':
        return this.#update(next.aborts);
      case 'otherProgram':
        return this.#otherProgram();
      case 'abort':
        for (const controller of this.#aborts) controller.abort(new Error('aborted'));
        this.#aborts = [];
        return;
      case 'release':
        return this.#leader?.store.link.release();
      case 'resign':
        void this.#leader?.leadership.resign();
        return;
      case 'loseAnswers':
        return this.#leader?.store.link.dropReplies(next.count, { operations: ['compareAndSwap'], how: next.how });
      case 'loseRequests':
        return this.#leader?.store.link.dropRequests(next.count, { operations: ['compareAndSwap', 'read'], how: next.how });
      case 'hold':
        return this.#leader?.store.link.holdWrites(next.what);
      case 'pass':
        return this.world.pass(next.ms);
      default:
        return next satisfies never;
    }
  }

  /** Ends all faults, and checks what the store has against what the updates said. */
  async finish(): Promise<void> {
    for (const { store } of this.#members) store.link.heal();
    await this.world.until(() => this.#updates.every(({ state }) => state !== 'pending'), 'the updates are over', 60_000, 20);
    await this.world.close();
    const stored = this.#stored();
    const done = this.#updates.filter(({ state }) => state === 'resolved');
    const failed = this.#updates.filter(({ state }) => state === 'rejected').map(({ error }) => error);
    const unknown = failed.filter((error) => outcomeOf(error) === 'unknown');
    expect(stored.others).toBe(this.#others);
    expect(stored.n).toBeGreaterThanOrEqual(done.length);
    expect(stored.n).toBeLessThanOrEqual(done.length + unknown.length);
    const values = done.map(({ value }) => value?.n);
    expect(new Set(values).size, 'each update made a value of its own').toBe(values.length);
    totals.done += done.length;
    totals.unknown += unknown.length;
    totals.conflict += failed.filter((error) => isIncumbentError(error, 'CONFLICT')).length;
    totals.ended += failed.filter((error) => isIncumbentError(error, 'LEADERSHIP_ENDED')).length;
    totals.retried += this.world.events.all.filter(({ fields }) => fields['doing'] === 'storedValue').length;
  }

  #update(aborts: boolean): void {
    if (this.#leader === undefined) return;
    const controller = new AbortController();
    if (aborts) this.#aborts.push(controller);
    const count = this.#leader.leadership.stored<Count>(KEY, OPTIONS);
    this.#updates.push(track(count.update(({ n, others } = NONE) => ({ n: n + 1, others }), { signal: controller.signal })));
  }

  /** Reads and writes in one step. */
  #otherProgram(): void {
    this.#others += 1;
    this.world.put(KEY, { ...this.#stored(), others: this.#others });
  }

  #stored(): Count {
    const json = this.world.json(KEY);
    return json === undefined ? NONE : parseCount(json);
  }
}

const OPTIONS: ValueOptions<Count> = { parse: parseCount };

function parseCount(value: unknown): Count {
  if (typeof value !== 'object' || value === null || !('n' in value) || !('others' in value)) throw new TypeError('no count');
  return { n: Number(value.n), others: Number(value.others) };
}

it('loses and doubles no increment, whatever is lost, late, or in between', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const run = new Run();
      await run.begin();
      for (const next of steps) await run.take(next);
      await run.finish();
    }),
    { seed: SEED, numRuns: 200 },
  );
  expect(totals.done).toBeGreaterThan(200);
  for (const count of Object.values(totals)) expect(count, JSON.stringify(totals)).toBeGreaterThan(5);
});
