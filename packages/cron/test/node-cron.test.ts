/**
 * node-cron reads the system's clock and timers, so the fake ones of vitest move with the
 * cluster's.
 */

import { createTask, type ScheduledTask, type TaskContext, type TaskOptions } from 'node-cron';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NodeCronCoordinator, type NodeCronOptions } from '../src/index.ts';
import { Fleet, START_MS } from './support/fleet.ts';

const STEP_MS = 100;

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: START_MS }));
afterEach(() => vi.useRealTimers());

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };

class NodeCronFleet extends Fleet {
  readonly skipped: string[] = [];
  readonly #tasks: ScheduledTask[] = [];

  /** A process with one task of node-cron, which has a slot each second. */
  schedule(
    id: string,
    options: NodeCronOptions = {},
    { work = () => {}, ...task }: TaskOptions & { work?: (context: TaskContext) => unknown } = {},
  ) {
    const { cron, start, member } = this.process(id);
    const coordinator = new NodeCronCoordinator(cron, options);
    const onSlot = async (context: TaskContext): Promise<void> => {
      const run = coordinator.runOf(context);
      if (run !== undefined) this.note(id, run);
      await work(context);
    };
    const scheduled = createTask('* * * * * *', onSlot, {
      name: 'tick',
      distributed: true,
      runCoordinator: coordinator,
      logger: silent,
      timezone: 'UTC',
      ...task,
    });
    scheduled.on('execution:skipped', ({ reason }) => void this.skipped.push(`${id} ${reason}`));
    void scheduled.start();
    this.#tasks.push(scheduled);
    return { start, member, coordinator, stop: () => scheduled.stop() };
  }

  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await vi.advanceTimersByTimeAsync(STEP_MS);
      await this.cluster.advance(STEP_MS);
    }
  }

  /** The leader of two processes crashes, and the slot after that comes during the failover. */
  async missSlot(options?: NodeCronOptions): Promise<void> {
    const tasks = ['a', 'b'].map((id) => this.schedule(id, options));
    for (const { start } of tasks) void start();
    await this.advance(2_500);
    await tasks[0]?.stop();
    this.cluster.crash('a');
    await this.advance(600);
    await tasks[1]?.stop();
    await this.advance(10_000);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const task of this.#tasks) await task.destroy();
    await super[Symbol.asyncDispose]();
  }
}

describe('tasks of node-cron', () => {
  it('run once in a fleet, and each slot is recorded', async () => {
    await using fleet = new NodeCronFleet();
    for (const id of ['a', 'b', 'c']) void fleet.schedule(id).start();
    await fleet.advance(5_500);
    expect(fleet.seconds).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(fleet.runs.map(({ by }) => by)).size).toBe(1);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:05.000Z', state: 'finished' });
  });

  it('run no slot twice across a failover', async () => {
    await using fleet = new NodeCronFleet();
    const [a] = [fleet.schedule('a'), fleet.schedule('b')].map((each) => {
      void each.start();
      return each;
    });
    await fleet.advance(2_500);
    expect(fleet.runs.at(-1)?.by).toBe('a');
    await a?.stop();
    fleet.cluster.crash('a');
    await fleet.advance(10_000);
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b', second: 12, term: 2n });
    expect(fleet.runs.filter(({ isLate }) => isLate).length).toBeLessThanOrEqual(1);
    expect(new Set(fleet.seconds).size).toBe(fleet.seconds.length);
  });

  it('run a slot late that came during the failover', async () => {
    await using fleet = new NodeCronFleet();
    await fleet.missSlot();
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b', second: 3, isLate: true, term: 2n });
    expect(fleet.reports).toEqual([]);
  });

  it('report that slot with misfire "report"', async () => {
    await using fleet = new NodeCronFleet();
    await fleet.missSlot({ misfire: 'report' });
    expect(fleet.seconds).toEqual([1, 2]);
    const slot = new Date(START_MS + 3_000);
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'tick', from: slot, to: slot }]);
  });

  it('give up a slot that is held for longer than holdMs', async () => {
    await using fleet = new NodeCronFleet();
    const [a, b] = ['a', 'b'].map((id) => fleet.schedule(id, { holdMs: 500 }));
    void a?.start();
    await fleet.advance(500);
    void b?.start();
    await fleet.advance(800);
    expect(fleet.skipped).toEqual([]);
    await fleet.advance(400);
    expect(fleet.skipped).toEqual(['b not-elected']);
  });

  it('are refused before run is called', async () => {
    await using fleet = new NodeCronFleet();
    fleet.schedule('a');
    await fleet.advance(1_500);
    expect(fleet.skipped).toEqual(['a coordinator-error']);
  });

  it('that are asked about when the member closes do not run', async () => {
    await using fleet = new NodeCronFleet();
    const [a, b] = ['a', 'b'].map((id) => fleet.schedule(id));
    void a?.start();
    await fleet.advance(500);
    const running = b?.start();
    await fleet.advance(1_000);
    await fleet.cluster.run(Promise.all([b?.member.close(), running]));
    await vi.advanceTimersByTimeAsync(0);
    expect(fleet.skipped).toEqual(['b not-elected']);
    expect(fleet.seconds).toEqual([1]);
  });

  it('do not run, and without an error, after run has ended', async () => {
    await using fleet = new NodeCronFleet();
    const { start, member } = fleet.schedule('a');
    const running = start();
    await fleet.advance(1_500);
    await fleet.cluster.run(Promise.all([member.close(), running]));
    await fleet.advance(1_000);
    expect(fleet.seconds).toEqual([1]);
    expect(fleet.skipped).toEqual(['a not-elected']);
  });

  it('with names that are no names of jobs are refused', async () => {
    await using fleet = new NodeCronFleet();
    void fleet.schedule('a', {}, { name: 'send mails' }).start();
    await fleet.advance(1_500);
    expect(fleet.skipped).toEqual(['a coordinator-error']);
  });
});

describe('a coordinator', () => {
  const keyOf = (second: number): string => `tick:${new Date(START_MS + second * 1_000).toISOString()}`;

  it('that is made while its process leads lets the tasks run', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    void start();
    await fleet.cluster.advance(500);
    const coordinator = new NodeCronCoordinator(cron);
    await fleet.cluster.advance(500);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(1)))).toBe(true);
  });

  it('keeps a slot whose claim the end of the leadership cut short, for the next term', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const coordinator = new NodeCronCoordinator(cron);
    void start();
    await fleet.cluster.advance(1_000);
    fleet.cluster.cutOff('a');
    const asked = coordinator.shouldRun(keyOf(1));
    await fleet.cluster.advance(8_000);
    fleet.cluster.heal('a');
    expect(await fleet.cluster.run(asked)).toBe(true);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:01.000Z', term: '2', state: 'started' });
  });

  it('keeps a slot whose report the end of the leadership cut short, for the next term', async () => {
    await using fleet = new Fleet();
    void fleet.process('a').start();
    const { cron, start } = fleet.process('b');
    const coordinator = new NodeCronCoordinator(cron, { misfire: 'report' });
    await fleet.cluster.advance(500);
    void start();
    await fleet.cluster.advance(500);
    fleet.cluster.crash('a');
    expect(await coordinator.shouldRun(keyOf(1))).toBe(false);
    const { store } = fleet.cluster.process('b');
    const swap = store.compareAndSwap.bind(store);
    const cutting = vi.spyOn(store, 'compareAndSwap').mockImplementation(async (changes, call) => {
      if (changes.some(({ key }) => key.startsWith('cron/'))) fleet.cluster.cutOff('b');
      return swap(changes, call);
    });
    await fleet.cluster.advance(15_000);
    cutting.mockRestore();
    fleet.cluster.heal('b');
    await fleet.cluster.advance(10_000);
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'tick', from: new Date(START_MS + 1_000), to: new Date(START_MS + 1_000) }]);
  });

  it.each(['run', 'report', 'skip'] as const)('records a slot that is held for too long as missed, with misfire "%s"', async (misfire) => {
    await using fleet = new Fleet();
    const coordinators = ['a', 'b'].map((id) => {
      const { cron, start } = fleet.process(id);
      void start();
      return new NodeCronCoordinator(cron, { misfire });
    });
    await fleet.cluster.advance(1_000);
    // The store is away for longer than holdMs.
    for (const id of ['a', 'b']) fleet.cluster.cutOff(id);
    await fleet.cluster.advance(9_000);
    const asked = coordinators.map((each) => each.shouldRun(keyOf(10)));
    await fleet.cluster.advance(50_000);
    expect(await Promise.all(asked)).toEqual([false, false]);
    for (const id of ['a', 'b']) fleet.cluster.heal(id);
    await fleet.cluster.advance(10_000);
    const slot = new Date(START_MS + 10_000);
    expect(fleet.reports).toEqual(misfire === 'skip' ? [] : [{ type: 'missed', job: 'tick', from: slot, to: slot }]);
    expect(fleet.record('tick')).toMatchObject({ slot: slot.toISOString(), state: 'missed' });
  });

  it('records no slot as missed that another process has run', async () => {
    await using fleet = new Fleet();
    const [a, b] = ['a', 'b'].map((id) => {
      const { cron, start } = fleet.process(id);
      void start();
      return new NodeCronCoordinator(cron, { holdMs: 500 });
    });
    await fleet.cluster.advance(1_000);
    const asked = [a, b].map(async (each) => each?.shouldRun(keyOf(1)));
    await fleet.cluster.advance(1_000);
    expect(await Promise.all(asked)).toEqual([true, false]);
    await fleet.cluster.run(Promise.resolve(a?.onComplete(keyOf(1))));
    fleet.cluster.crash('a');
    await fleet.cluster.advance(20_000);
    expect(fleet.reports).toEqual([]);
    expect(fleet.record('tick')).toMatchObject({ term: '1', state: 'finished' });
  });

  it('reports a run that was interrupted at the next election, not at the next slot', async () => {
    await using fleet = new Fleet();
    const [a, b] = ['a', 'b'].map((id) => {
      const { cron, start } = fleet.process(id);
      void start();
      return new NodeCronCoordinator(cron);
    });
    await fleet.cluster.advance(10_000);
    const asked = [a, b].map(async (each) => each?.shouldRun(keyOf(10)));
    // The run takes longer than holdMs.
    await fleet.cluster.advance(40_000);
    expect(await Promise.all(asked)).toEqual([true, false]);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(20_000);
    expect(fleet.reports).toEqual([{ type: 'interrupted', job: 'tick', slot: new Date(START_MS + 10_000), term: 1n }]);
  });

  it('reports its own run that was interrupted when its process is elected again', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const coordinator = new NodeCronCoordinator(cron);
    void start();
    await fleet.cluster.advance(10_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(10)))).toBe(true);
    fleet.cluster.expireLease('a');
    await fleet.cluster.advance(1_000);
    // The process that still runs the task is elected only after the drain.
    await fleet.cluster.run(coordinator.onComplete(keyOf(10)));
    await fleet.cluster.advance(20_000);
    expect(fleet.reports).toMatchObject([
      { type: 'aborted', job: 'tick', term: 1n },
      { type: 'interrupted', job: 'tick', slot: new Date(START_MS + 10_000), term: 1n },
    ]);
    expect(fleet.record('tick')).toMatchObject({ state: 'interrupted' });
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(31)))).toBe(true);
  });

  it('answers at once when the cron has stopped', async () => {
    await using fleet = new Fleet();
    const { cron, start, member } = fleet.process('a');
    const coordinator = new NodeCronCoordinator(cron);
    const running = start();
    await fleet.cluster.advance(1_000);
    fleet.cluster.cutOff('a');
    const asked = coordinator.shouldRun(keyOf(1));
    await fleet.cluster.run(member.close());
    await fleet.cluster.run(running);
    expect(await fleet.cluster.run(asked)).toBe(false);
    expect(fleet.cluster.clock.timers).toBe(0);
  });
});
