/** What a process reports about the runs that the end of its leadership stops. */

import { sleep } from '@incumbent/core';
import { describe, expect, it, vi } from 'vitest';
import { FleetCron, NodeCronCoordinator } from '../src/index.ts';
import { every, Fleet, secondsOf, START_MS } from './support/fleet.ts';

const aborted = (second: number): unknown => ({
  type: 'aborted',
  job: 'tick',
  slot: new Date(START_MS + second * 1_000),
  term: 1n,
  reason: expect.objectContaining({ code: 'LEADERSHIP_ENDED' }),
});
const keyOf = (second: number): string => `tick:${new Date(START_MS + second * 1_000).toISOString()}`;
const untilAborted = (signal: AbortSignal): Promise<void> => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

describe('a run that is under way when the leadership ends', () => {
  it('is reported by its process at once, and by the next leader as interrupted', async () => {
    await using fleet = new Fleet();
    const first = fleet.start('a', {}, ({ slot, signal }) => (secondsOf(slot) === 2 ? untilAborted(signal) : undefined));
    await fleet.cluster.advance(2_500);
    const stopping = first.member.shutdown();
    expect(fleet.reports).toEqual([aborted(2)]);
    await fleet.cluster.run(stopping);
    fleet.start('b');
    await fleet.cluster.advance(2_000);
    expect(fleet.reports).toEqual([aborted(2), { type: 'interrupted', job: 'tick', slot: new Date(START_MS + 2_000), term: 1n }]);
  });

  it('is reported once, also if it throws then', async () => {
    await using fleet = new Fleet();
    const { member } = fleet.start('a', {}, async ({ signal }) => {
      await untilAborted(signal);
      signal.throwIfAborted();
    });
    await fleet.cluster.advance(1_500);
    await fleet.cluster.run(member.close());
    expect(fleet.reports).toEqual([aborted(1)]);
  });

  it('is reported if a task of node-cron performs it', async () => {
    await using fleet = new Fleet();
    const { cron, start, member } = fleet.process('a');
    const coordinator = new NodeCronCoordinator(cron);
    void start();
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(1)))).toBe(true);
    await fleet.cluster.run(coordinator.onComplete(keyOf(1)));
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(2)))).toBe(true);
    await fleet.cluster.run(member.close());
    await fleet.cluster.run(coordinator.onComplete(keyOf(2)));
    expect(fleet.reports).toEqual([aborted(2)]);
  });

  it('is a warning of Node without onReport', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await using fleet = new Fleet();
    const member = fleet.cluster.member('a');
    const cron = new FleetCron(member.election('cron'), { clock: fleet.clockOf('a') });
    cron.add('tick', every(1_000), ({ signal }) => untilAborted(signal));
    void cron.run();
    await fleet.cluster.advance(1_500);
    await fleet.cluster.run(member.close());
    const { calls } = warning.mock;
    warning.mockRestore();
    const text = expect.stringContaining('tick: the run of 2030-01-01T00:00:01.000Z in term 1 was told to stop: ');
    expect(calls).toContainEqual([text, { type: 'CronWarning', code: 'INCUMBENT_CRON_ABORTED' }]);
  });
});

describe('finishRuns', () => {
  it('waits for the run under way, claims no further slot, and lets the next leader go on', async () => {
    await using fleet = new Fleet();
    const work = Promise.withResolvers<void>();
    const first = fleet.start('a', {}, ({ slot }) => (secondsOf(slot) === 2 ? work.promise : undefined));
    await fleet.cluster.advance(2_500);
    fleet.start('b');
    const finished = vi.fn<() => void>();
    const finishing = first.cron.finishRuns().then(finished);
    await fleet.cluster.advance(700);
    expect(finished).not.toHaveBeenCalled();
    work.resolve();
    await fleet.cluster.run(finishing);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:02.000Z', state: 'finished' });
    await fleet.cluster.advance(600);
    await fleet.cluster.run(first.member.shutdown());
    await fleet.cluster.advance(1_000);
    expect(fleet.runs.map(({ by, second }) => `${by} ${second}`)).toEqual(['a 1', 'a 2', 'b 3', 'b 4']);
    expect(fleet.reports).toEqual([]);
  });

  it('waits for a run whose claim is under way', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.start('a', {}, () => sleep(fleet.clockOf('a'), 1_500));
    await fleet.cluster.advance(900);
    fleet.cluster.process('a').store.link.delay(200);
    await fleet.cluster.advance(300);
    expect(fleet.runs).toEqual([]);
    await fleet.cluster.run(cron.finishRuns());
    expect(fleet.seconds).toEqual([1]);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:01.000Z', state: 'finished' });
  });

  it('resolves at once in a process that does not lead, which claims nothing if it is elected then', async () => {
    await using fleet = new Fleet();
    const first = fleet.start('a');
    await fleet.cluster.advance(1_500);
    const second = fleet.start('b');
    await second.cron.finishRuns();
    await fleet.cluster.run(first.member.shutdown());
    await fleet.cluster.advance(2_000);
    expect(second.member.election('cron').leadership?.term).toBe(2n);
    expect(fleet.seconds).toEqual([1]);
  });

  it('rejects when its signal aborts, and interrupts no run', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.start('a', {}, () => sleep(fleet.clockOf('a'), 1_500));
    await fleet.cluster.advance(1_500);
    const impatient = new AbortController();
    const finishing = cron.finishRuns({ signal: impatient.signal });
    impatient.abort(new Error('no more time'));
    await expect(finishing).rejects.toThrow('no more time');
    await fleet.cluster.advance(3_000);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:01.000Z', state: 'finished' });
    expect(fleet.reports).toEqual([]);
  });

  it('waits for a task of node-cron, and answers no to its further slots', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const coordinator = new NodeCronCoordinator(cron);
    void start();
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(1)))).toBe(true);
    const finished = vi.fn<() => void>();
    const finishing = cron.finishRuns().then(finished);
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(keyOf(2)))).toBe(false);
    expect(finished).not.toHaveBeenCalled();
    await fleet.cluster.run(coordinator.onComplete(keyOf(1)));
    await fleet.cluster.run(finishing);
    expect(fleet.record('tick')).toMatchObject({ slot: '2030-01-01T00:00:01.000Z', state: 'finished' });
  });

  it('ends with run, so that a later run claims slots again', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    cron.add('tick', every(1_000), (run) => fleet.note('a', run));
    const stop = new AbortController();
    const running = cron.run({ signal: stop.signal }).catch((error: unknown) => error);
    await fleet.cluster.advance(1_500);
    await fleet.cluster.run(cron.finishRuns());
    const reason = new Error('stop');
    stop.abort(reason);
    expect(await fleet.cluster.run(running)).toBe(reason);
    void cron.run();
    await fleet.cluster.advance(1_000);
    expect(fleet.seconds).toEqual([1, 2]);
  });
});

it('a run that has ended is not reported when the leadership ends', async () => {
  await using fleet = new Fleet();
  const { member } = fleet.start('a');
  await fleet.cluster.advance(2_500);
  await fleet.cluster.run(member.close());
  expect(fleet.reports).toEqual([]);
});
