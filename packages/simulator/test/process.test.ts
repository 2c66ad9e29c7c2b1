import { describe, expect, it } from 'vitest';
import { SimProcess } from '../src/time/process.ts';
import { streamOf } from '../src/time/random.ts';
import { Scheduler } from '../src/time/scheduler.ts';

function setUp(rate = 1): { scheduler: Scheduler; process: SimProcess; pass: (ms: number) => void } {
  const scheduler = new Scheduler(streamOf(1));
  const process = new SimProcess('p', 1, scheduler, { rate, random: streamOf(2) });
  const pass = (ms: number): void => {
    let over = false;
    scheduler.after(ms, () => {
      over = true;
    });
    while (!over) scheduler.step();
  };
  return { scheduler, process, pass };
}

describe('the clocks of a process', () => {
  it('go at its own rate', () => {
    const { process, pass } = setUp(1.01);
    const [monotonic, wall] = [process.monotonic(), process.wall()];
    pass(10_000);
    expect(process.monotonic() - monotonic).toBeCloseTo(10_100, 6);
    expect(process.wall() - wall).toBeCloseTo(10_100, 3);
  });

  it('continue while it is paused or blocked', () => {
    for (const state of ['paused', 'blocked'] as const) {
      const { process, pass } = setUp();
      const before = process.monotonic();
      process.stop(state);
      pass(500);
      expect(process.monotonic() - before).toBeCloseTo(500, 6);
    }
  });

  it('differ after a suspend: the wall clock continues, the monotonic clock stands still', () => {
    const { process, pass } = setUp();
    const [monotonic, wall] = [process.monotonic(), process.wall()];
    const resume = process.stop('suspended');
    pass(500);
    resume();
    expect(process.monotonic() - monotonic).toBeCloseTo(0, 6);
    expect(process.wall() - wall).toBeCloseTo(500, 3);
    pass(100);
    expect(process.monotonic() - monotonic).toBeCloseTo(100, 6);
  });

  it('differ after a jump: only the wall clock moves', () => {
    const { process } = setUp();
    const [monotonic, wall] = [process.monotonic(), process.wall()];
    process.jumpWall(-3_000);
    expect(process.monotonic()).toBe(monotonic);
    expect(process.wall() - wall).toBeCloseTo(-3_000, 3);
  });
});

describe('a timer', () => {
  it.each([0.9901, 1, 1.0099])('never fires early by the clock of its process, at the rate %f', (rate) => {
    const { process, pass } = setUp(rate);
    for (let i = 0; i < 300; i += 1) {
      const [from, delayMs] = [process.monotonic(), i * 7];
      process.schedule(delayMs, () => expect(process.monotonic() - from).toBeGreaterThanOrEqual(delayMs));
    }
    pass(5_000);
    expect(process.pending.timers).toBe(0);
  });

  it('waits until its process resumes, and after a suspend for its remaining time', () => {
    const { process, pass, scheduler } = setUp();
    const fired: number[] = [];
    process.schedule(100, () => fired.push(scheduler.nowMs));
    const resume = process.stop('suspended');
    pass(1_000);
    expect(fired).toEqual([]);
    resume();
    pass(300);
    expect(fired).toHaveLength(1);
    expect(fired[0]).toBeGreaterThanOrEqual(1_100);
  });

  it('never fires once cancelled, or once its process is dead', () => {
    const { process, pass } = setUp();
    const fired: string[] = [];
    const cancel = process.schedule(10, () => fired.push('cancelled'));
    process.schedule(20, () => fired.push('dead'));
    cancel();
    cancel();
    expect(process.pending.timers).toBe(1);
    process.kill();
    pass(100);
    expect(fired).toEqual([]);
  });
});

describe('a process that is stopped', () => {
  it('handles everything that came meanwhile when it resumes, and nothing before', () => {
    const { process, pass } = setUp();
    const ran: number[] = [];
    const resume = process.stop('paused');
    for (const i of [1, 2, 3]) process.run(() => ran.push(i));
    pass(50);
    expect(ran).toEqual([]);
    resume();
    pass(50);
    expect(ran.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(process.stoodMs).toBeCloseTo(50, 6);
  });

  it('is not resumed by the end of another stop, nor after its death', () => {
    const { process } = setUp();
    const first = process.stop('paused');
    const none = process.stop('blocked');
    none();
    expect(process.state).toBe('paused');
    first();
    const second = process.stop('suspended');
    first();
    expect(process.state).toBe('suspended');
    process.kill();
    second();
    expect(process.state).toBe('dead');
  });

  it('counts each call of keepAlive once', () => {
    const { process } = setUp();
    const [one, other] = [process.keepAlive(), process.keepAlive()];
    one();
    one();
    expect(process.pending.holds).toBe(1);
    other();
    expect(process.pending.holds).toBe(0);
  });
});
