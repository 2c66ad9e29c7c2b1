import { Member } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import type { MemoryStore } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { type CronReport, FleetCron, type FleetCronOptions, NodeCronCoordinator } from '../src/index.ts';
import { type CronProcess, Fleet, secondsOf, START_MS } from './support/fleet.ts';

/** A fleet whose messages to and from the store take time. The slot of second 3 is the one to stop at. */
class SlowFleet extends Fleet {
  readonly #latencyOf: () => number;
  readonly #stores = new Map<string, MemoryStore>();
  readonly #members: Member[] = [];

  constructor(latencyOf: () => number) {
    super();
    this.#latencyOf = latencyOf;
  }

  override process(memberId: string, options: FleetCronOptions = {}): CronProcess {
    const clock = this.clockOf(memberId);
    const store = this.cluster.server.connect({ clock, latencyMs: this.#latencyOf });
    this.#stores.set(memberId, store);
    const member = new Member(store, { ...this.cluster.process(memberId).options, ttlMs: 5_000 });
    this.#members.push(member);
    const onReport = (report: CronReport): unknown => this.reports.push(report);
    const cron = new FleetCron(member.election('cron'), { onReport, clock, maxLate: 100, ...options });
    return { cron, member, start: () => cron.run() };
  }

  cutOff(memberId: string): void {
    this.#stores.get(memberId)?.link.cutOff();
  }

  /** The second of each slot that was reported, in order. */
  get reported(): readonly number[] {
    return this.reports.flatMap((report) => {
      if (report.type !== 'missed') return [secondsOf(report.slot)];
      const [from, to] = [secondsOf(report.from), secondsOf(report.to)];
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.run(Promise.all(this.#members.map((member) => member.close())));
    await super[Symbol.asyncDispose]();
  }
}

interface Stop {
  /** The time between the slot of second 3 and the stop of the leader, in ms. */
  readonly afterMs: number;
  readonly latencyOf?: () => number;
  /** Called at the stop. */
  readonly fault?: (fleet: SlowFleet) => void;
}

/** Two processes, of which the leader stops. Lets six slots pass. */
async function stopped({ afterMs, latencyOf = () => 3, fault = () => {} }: Stop): Promise<SlowFleet> {
  const fleet = new SlowFleet(latencyOf);
  const { member } = fleet.start('a');
  await fleet.cluster.advance(1_500);
  fleet.start('b');
  await fleet.cluster.advance(1_500 + afterMs);
  fault(fleet);
  void member.shutdown();
  await fleet.cluster.advance(12_500 - afterMs);
  return fleet;
}

const ALL = Array.from({ length: 15 }, (_, index) => index + 1);
const byNumber = (a: number, b: number): number => a - b;

describe('a process that stops while it claims a slot', () => {
  it('runs the slot, or leaves it to the next leader, at whatever moment it stops', async () => {
    const ranThird = new Set<string | undefined>();
    for (let afterMs = 0; afterMs < 40; afterMs += 1) {
      await using fleet = await stopped({ afterMs });
      expect({ afterMs, ran: fleet.seconds.toSorted(byNumber) }).toEqual({ afterMs, ran: ALL });
      // The end of a run that the stop has overtaken is not recorded.
      expect(fleet.reported.filter((second) => second !== 3)).toEqual([]);
      ranThird.add(fleet.runs.find(({ second }) => second === 3)?.by);
    }
    expect(ranThird).toEqual(new Set(['a', 'b']));
  });

  it('takes the claim back although the claim reaches the store late', async () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = seeded(seed);
      const latencyOf = (): number => random.u32() % 50;
      await using fleet = await stopped({ afterMs: random.u32() % 250, latencyOf });
      const [ran, known] = [fleet.seconds, new Set([...fleet.seconds, ...fleet.reported])];
      expect({ seed, twice: ran.filter((second, index) => ran.indexOf(second) !== index) }).toEqual({ seed, twice: [] });
      expect({ seed, known: [...known].toSorted(byNumber) }).toEqual({ seed, known: ALL });
    }
  });

  it('has its slot reported if the store does not hear of the return', async () => {
    for (let afterMs = 0; afterMs < 40; afterMs += 1) {
      await using fleet = await stopped({ afterMs, fault: (world) => world.cutOff('a') });
      const [ran, known] = [fleet.seconds, new Set([...fleet.seconds, ...fleet.reported])];
      expect({ afterMs, count: ran.length, known: [...known].toSorted(byNumber) }).toEqual({
        afterMs,
        count: new Set(ran).size,
        known: ALL,
      });
    }
  });

  it('leaves no timer behind', async () => {
    for (let afterMs = 0; afterMs < 20; afterMs += 1) {
      const fleet = new SlowFleet(() => 3);
      const { member } = fleet.start('a');
      await fleet.cluster.advance(3_000 + afterMs);
      await fleet.cluster.run(member.shutdown());
      await fleet.cluster.advance(10);
      expect({ afterMs, timers: fleet.cluster.clock.timers, holds: fleet.cluster.clock.holds }).toEqual({ afterMs, timers: 0, holds: 0 });
      await fleet[Symbol.asyncDispose]();
    }
  });

  it('leaves the slot as a missed one, which misfire decides about', async () => {
    await using fleet = new SlowFleet(() => 3);
    const { member } = fleet.start('a', { misfire: 'report' });
    // The claim is in the store, and its answer is on the way.
    await fleet.cluster.advance(3_010);
    await fleet.cluster.run(member.shutdown());
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:02.000Z', returned: '2030-01-01T00:00:03.000Z' });
    await fleet.cluster.advance(5_000);
    fleet.start('b', { misfire: 'report' });
    await fleet.cluster.advance(2_000);
    expect(fleet.seconds.slice(0, 3)).toEqual([1, 2, expect.any(Number)]);
    expect(fleet.reports.every(({ type }) => type === 'missed')).toBe(true);
    expect(fleet.reported).toEqual(ALL.slice(2, fleet.reported.length + 2));
  });
});

describe('a coordinator of node-cron', () => {
  it('answers yes in one process, at whatever moment the leader stops while it claims the slot', async () => {
    const yes = new Set<string>();
    for (let afterMs = 0; afterMs < 40; afterMs += 1) {
      await using fleet = new SlowFleet(() => 3);
      const [a, b] = [fleet.process('a'), fleet.process('b')];
      const coordinators = [a, b].map(({ cron }) => new NodeCronCoordinator(cron));
      void a.start();
      await fleet.cluster.advance(500);
      void b.start();
      await fleet.cluster.advance(2_500);
      const key = `tick:${new Date(START_MS + 3_000).toISOString()}`;
      const answers = coordinators.map(async (coordinator) => {
        const isRun = await coordinator.shouldRun(key);
        if (isRun) await coordinator.onComplete(key);
        return isRun;
      });
      await fleet.cluster.advance(afterMs);
      await fleet.cluster.run(a.member.shutdown());
      // The process that does not lead keeps the slot for 30 s.
      await fleet.cluster.advance(60_000);
      const [first, second] = await fleet.cluster.run(Promise.all(answers));
      expect({ afterMs, answers: [first, second].filter(Boolean) }).toEqual({ afterMs, answers: [true] });
      yes.add(first === true ? 'a' : 'b');
    }
    expect(yes).toEqual(new Set(['a', 'b']));
  });
});
