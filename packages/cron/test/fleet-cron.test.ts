import { describe, expect, it, vi } from 'vitest';
import { FleetCron } from '../src/index.ts';
import { every, Fleet, secondsOf } from './support/fleet.ts';

describe('a job', () => {
  it('runs each slot once in a fleet, in the process that leads', async () => {
    await using fleet = new Fleet();
    for (const id of ['a', 'b', 'c']) fleet.start(id);
    await fleet.cluster.advance(5_500);
    expect(fleet.seconds).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(fleet.runs.map(({ by }) => by)).size).toBe(1);
    expect(fleet.record('tick')).toEqual({
      v: 1,
      slot: '2030-01-01T00:00:05.000Z',
      term: '1',
      state: 'finished',
      next: '2030-01-01T00:00:06.000Z',
    });
    expect(fleet.reports).toEqual([]);
  });

  it('runs its slots one after the other, and others at the same time', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a', { misfire: 'skip', graceMs: 50 });
    const { cluster } = fleet;
    let running = 0;
    cron.add('slow', every(1_000), async (run) => {
      fleet.note('a', run);
      running += 1;
      expect(running).toBe(1);
      await new Promise<void>((resolve) => cluster.clock.schedule(2_500, resolve));
      running -= 1;
    });
    cron.add('quick', every(2_000), (run) => fleet.note('a', run));
    void start();
    await cluster.advance(8_500);
    const of = (name: string): number[] => fleet.runs.filter(({ job }) => job === name).map(({ second }) => second);
    expect([of('slow'), of('quick')]).toEqual([
      [1, 4, 7],
      [2, 4, 6, 8],
    ]);
  });

  it('gets its slot, the term and a signal that aborts with the leadership', async () => {
    await using fleet = new Fleet();
    const seen: unknown[] = [];
    fleet.start('a', {}, async ({ slot, term, signal, leadership }) => {
      seen.push(secondsOf(slot), term, leadership.isValid(), FleetCron.currentRun?.slot === slot);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push(signal.reason, leadership.isValid());
    });
    await fleet.cluster.advance(1_500);
    fleet.cluster.expireLease('a');
    await fleet.cluster.advance(100);
    expect(seen).toEqual([1, 1n, true, true, expect.objectContaining({ code: 'LEADERSHIP_ENDED' }), false]);
    expect(FleetCron.currentRun).toBeUndefined();
  });

  it('that throws is reported, with a term and an error that JSON holds', async () => {
    await using fleet = new Fleet();
    const written: unknown[] = [];
    const write = (value: unknown): unknown => written.push(JSON.parse(JSON.stringify(value)));
    fleet.start('a', { onReport: write }, (run) => {
      write(run);
      throw Object.assign(new Error('no paper', { cause: new Error('jam') }), { code: 'E_PAPER', tray: 2n });
    });
    await fleet.cluster.advance(1_500);
    const slot = '2030-01-01T00:00:01.000Z';
    const leadership = { election: 'cron', term: '1', memberId: 'a', state: 'valid' };
    const error = { name: 'Error', code: 'E_PAPER', message: 'no paper', cause: { name: 'Error', message: 'jam' } };
    expect(written).toEqual([
      { job: 'tick', slot, isLate: false, term: '1', signal: {}, leadership },
      { type: 'failed', job: 'tick', slot, term: '1', error },
    ]);
  });

  it('that throws is reported, and runs its next slot', async () => {
    await using fleet = new Fleet();
    const error = new Error('no paper');
    fleet.start('a', {}, ({ slot }) => {
      if (secondsOf(slot) === 2) throw error;
    });
    await fleet.cluster.advance(2_500);
    expect(fleet.record('tick')).toMatchObject({ state: 'failed' });
    await fleet.cluster.advance(1_000);
    expect(fleet.seconds).toEqual([1, 2, 3]);
    expect(fleet.reports).toMatchObject([{ type: 'failed', job: 'tick', term: 1n, error }]);
  });

  it('is late if the claim of its slot took longer than graceMs', async () => {
    await using fleet = new Fleet();
    const { store } = fleet.cluster.process('a');
    const clock = fleet.clockOf('a');
    const swap = store.compareAndSwap.bind(store);
    let delayMs = 0;
    vi.spyOn(store, 'compareAndSwap').mockImplementation(async (changes, call) => {
      await new Promise<void>((resolve) => clock.schedule(delayMs, resolve));
      return swap(changes, call);
    });
    fleet.start('a', { graceMs: 100, misfire: 'report' });
    await fleet.cluster.advance(1_500);
    delayMs = 400;
    await fleet.cluster.advance(1_000);
    expect(fleet.runs.map(({ second, isLate }) => [second, isLate])).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  it('has no slots before the first leader that knows it', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a', { maxLate: 100 });
    cron.add('report', every(3_600_000), (run) => fleet.note('a', run));
    void start();
    await fleet.cluster.advance(3_599_000);
    expect(fleet.runs).toEqual([]);
    await fleet.cluster.advance(2_000);
    expect(fleet.runs).toMatchObject([{ job: 'report', second: 3_600, isLate: false }]);
  });

  it('with no further slots lets the other jobs run', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    cron.add('never', { nextRun: () => null }, () => expect.unreachable());
    cron.add('tick', every(1_000), (run) => fleet.note('a', run));
    void start();
    await fleet.cluster.advance(120_500);
    expect(fleet.runs).toHaveLength(120);
  });
});

describe('when the leadership changes', () => {
  it('no slot runs twice, and none is lost, if the missed ones run late', async () => {
    await using fleet = new Fleet();
    for (const id of ['a', 'b']) fleet.start(id, { maxLate: 100 });
    await fleet.cluster.advance(3_500);
    const [first] = fleet.runs;
    fleet.cluster.crash(first?.by ?? '');
    await fleet.cluster.advance(16_000);
    expect(fleet.seconds).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
    expect(fleet.runs.some(({ isLate }) => isLate)).toBe(true);
    expect(fleet.runs.at(-1)).toMatchObject({ term: 2n, isLate: false });
    expect(fleet.reports).toEqual([]);
  });

  it('only the latest missed slot runs late by default, and the others are reported', async () => {
    await using fleet = new Fleet();
    fleet.start('a');
    await fleet.cluster.advance(3_500);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(60_000);
    fleet.start('b');
    await fleet.cluster.advance(2_000);
    expect(fleet.seconds).toEqual([1, 2, 3, 62, 63, 64, 65]);
    expect(fleet.runs.filter(({ isLate }) => isLate)).toMatchObject([{ second: 62 }]);
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'tick', from: expect.any(Date), to: expect.any(Date) }]);
    expect(fleet.reports.map((each) => (each.type === 'missed' ? [secondsOf(each.from), secondsOf(each.to)] : []))).toEqual([[4, 61]]);
  });

  it.each([
    ['report', [{ type: 'missed' }]],
    ['skip', []],
  ] as const)('the missed slots do not run with misfire "%s"', async (misfire, reports) => {
    await using fleet = new Fleet();
    fleet.start('a', { misfire });
    await fleet.cluster.advance(3_500);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(60_000);
    fleet.start('b', { misfire });
    await fleet.cluster.advance(2_000);
    expect(fleet.seconds).toEqual([1, 2, 3, 63, 64, 65]);
    expect(fleet.reports).toMatchObject(reports);
  });

  it('a run that was not recorded as finished is reported once, and does not run again', async () => {
    await using fleet = new Fleet();
    for (const id of ['a', 'b', 'c'])
      fleet.start(id, { maxLate: 100 }, ({ slot, signal }) => secondsOf(slot) === 2 && untilAborted(signal));
    await fleet.cluster.advance(2_500);
    fleet.cluster.crash(fleet.runs[0]?.by ?? '');
    await fleet.cluster.advance(12_000);
    fleet.cluster.crash(fleet.runs.at(-1)?.by ?? '');
    await fleet.cluster.advance(12_000);
    expect(fleet.seconds).toEqual(Array.from({ length: 26 }, (_, index) => index + 1));
    expect(fleet.runs.at(-1)).toMatchObject({ term: 3n });
    expect(fleet.reports).toEqual([{ type: 'interrupted', job: 'tick', slot: new Date(Date.UTC(2030, 0, 1, 0, 0, 2)), term: 1n }]);
  });

  it('a process that was paused runs none of the slots that the other one ran', async () => {
    await using fleet = new Fleet();
    for (const id of ['a', 'b']) fleet.start(id, { maxLate: 100 });
    await fleet.cluster.advance(2_500);
    const paused = fleet.runs[0]?.by ?? '';
    fleet.cluster.pause(paused);
    await fleet.cluster.advance(20_000);
    fleet.cluster.resume(paused);
    await fleet.cluster.advance(2_000);
    expect(fleet.seconds).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
    expect(fleet.runs.filter(({ by, term }) => by === paused && term > 1n)).toEqual([]);
  });

  it('an orderly stop loses no slot', async () => {
    await using fleet = new Fleet();
    const [a] = [fleet.start('a'), fleet.start('b')];
    await fleet.cluster.advance(3_500);
    await fleet.cluster.run(a.member.shutdown());
    await fleet.cluster.advance(3_000);
    expect(fleet.seconds).toEqual([1, 2, 3, 4, 5, 6]);
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b', isLate: false });
    expect(fleet.reports).toEqual([]);
  });
});

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}
