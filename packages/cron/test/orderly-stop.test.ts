/** What a process reports about the runs that the end of its leadership stops. */

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
    const key = (second: number): string => `tick:${new Date(START_MS + second * 1_000).toISOString()}`;
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(key(1)))).toBe(true);
    await fleet.cluster.run(coordinator.onComplete(key(1)));
    await fleet.cluster.advance(1_000);
    expect(await fleet.cluster.run(coordinator.shouldRun(key(2)))).toBe(true);
    await fleet.cluster.run(member.close());
    await fleet.cluster.run(coordinator.onComplete(key(2)));
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

it('a run that has ended is not reported when the leadership ends', async () => {
  await using fleet = new Fleet();
  const { member } = fleet.start('a');
  await fleet.cluster.advance(2_500);
  await fleet.cluster.run(member.close());
  expect(fleet.reports).toEqual([]);
});
