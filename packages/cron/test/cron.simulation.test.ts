/** Jobs in simulated worlds with faults: no slot runs twice, and none is lost in silence. */

import { Member, type Store } from '@incumbent/core';
import { simulate, SimulationError, type ProgramContext, type ProgramUnderTest } from '@incumbent/simulator';
import { expect, it } from 'vitest';
import { FleetCron, type CronReport } from '../src/index.ts';
import { every } from './support/fleet.ts';

const EVERY_MS = 1_000;

/** What became of the slots of one world, as somebody outside of all processes sees it. */
class Slots {
  readonly #runs: number[] = [];
  readonly #reported = new Set<number>();

  run(slot: number): void {
    this.#runs.push(slot);
  }

  report(report: CronReport): void {
    if (report.type === 'ahead' || report.type === 'aborted') return;
    const [from, to] = report.type === 'missed' ? [report.from, report.to] : [report.slot, report.slot];
    for (let slot = from.getTime(); slot <= to.getTime(); slot += EVERY_MS) this.#reported.add(slot);
  }

  /** Throws if a slot ran twice, or if one before the last run neither ran nor was reported. */
  check(): void {
    const ran = new Set<number>();
    for (const slot of this.#runs) {
      if (ran.has(slot)) throw new Error(`slot ${slot} ran twice`);
      ran.add(slot);
    }
    const [first = 0] = this.#runs;
    for (let slot = first; slot < Math.max(...this.#runs); slot += EVERY_MS)
      if (!ran.has(slot) && !this.#reported.has(slot)) throw new Error(`slot ${slot} neither ran nor was reported`);
  }

  get count(): number {
    return this.#runs.length;
  }
}

async function program(self: ProgramContext, slots: Slots, store: Store): Promise<void> {
  await using member = new Member(store, self.options);
  const cron = new FleetCron(member.election('cron'), {
    clock: self.clock,
    maxLate: 100,
    onReport: (report) => slots.report(report),
  });
  cron.add('tick', every(EVERY_MS), ({ slot, term }) => {
    slots.run(slot.getTime());
    self.note(`slot ${slot.toISOString()} in term ${term}`);
  });
  try {
    await cron.run({ signal: self.stopping });
  } catch (error) {
    if (error !== self.stopping.reason) throw error;
  }
}

let runs = 0;

function world(storeOf: (store: Store) => Store = (store) => store): ProgramUnderTest {
  const slots = new Slots();
  return {
    member: (self) => program(self, slots, storeOf(self.store)),
    check: () => {
      slots.check();
      runs += slots.count;
    },
  };
}

it.each([
  ['stormy', 150],
  ['adversarial', 150],
])('no slot runs twice, and each one runs or is reported, in %s worlds', async (profile, seeds) => {
  runs = 0;
  const { worlds } = await simulate(() => world(), { profile, seeds });
  expect(worlds).toBe(seeds);
  expect(runs).toBeGreaterThan(seeds * 50);
});

/** A store that creates the key of a job, and then acknowledges its changes without making them. */
function forgetful(store: Store): Store {
  const compareAndSwap: Store['compareAndSwap'] = async (changes, options) => {
    const isClaim = changes.some(({ key, expect: revision }) => key.startsWith('cron/') && revision !== null);
    return isClaim ? { swapped: true, revisions: changes.map(() => undefined) } : store.compareAndSwap(changes, options);
  };
  return new Proxy(store, {
    get: (target, name): unknown => {
      if (name === 'compareAndSwap') return compareAndSwap;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

it('slots run twice if claims are not recorded, which the simulation detects', async () => {
  const found: unknown = await simulate(() => world(forgetful), { profile: 'stormy', seeds: 20 }).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(SimulationError);
  expect(found).toMatchObject({ message: expect.stringMatching(/slot \d+ ran twice/) });
});
