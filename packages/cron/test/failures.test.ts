import { ElectionAdmin, Fence, StoreError } from '@incumbent/core';
import { CronTime } from 'cron';
import { describe, expect, it, vi } from 'vitest';
import { cronSchedule, FleetCron, type FleetCronOptions, NodeCronCoordinator } from '../src/index.ts';
import { every, Fleet, secondsOf, START_MS } from './support/fleet.ts';

const invalid = (code = 'INVALID_OPTION'): unknown => expect.objectContaining({ code });

describe('a job', () => {
  it('that meets a newer term ends the leadership, and runs on in a higher one', async () => {
    await using fleet = new Fleet();
    const fence = new Fence();
    fence.admit(7n);
    fleet.start('a', { maxLate: 100 }, ({ term }) => fence.admit(term));
    await fleet.cluster.advance(3_500);
    expect(fleet.runs.map(({ second, term }) => [second, term])).toEqual([
      [1, 1n],
      [2, 8n],
      [3, 8n],
    ]);
    expect(fleet.reports).toMatchObject([{ type: 'failed', error: { code: 'STALE_TERM' } }]);
  });

  it('that meets a newer term after the end of its leadership runs on in a higher one', async () => {
    await using fleet = new Fleet();
    const fence = new Fence();
    fence.admit(7n);
    fleet.start('a', { maxLate: 100 }, async ({ term, signal }) => {
      if (term === 1n) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      fence.admit(term);
    });
    await fleet.cluster.advance(1_500);
    const { store } = fleet.cluster.process('operator');
    await fleet.cluster.run(new ElectionAdmin(store, 'cron').stepDown(1n));
    await fleet.cluster.advance(2_000);
    expect([...new Set(fleet.runs.map(({ term }) => term))]).toEqual([1n, 8n]);
  });

  it('that meets a term which no election may take leads on, and its next slots run', async () => {
    await using fleet = new Fleet();
    const fence = new Fence({ highest: 2n ** 61n + 1n });
    fleet.start('a', { maxLate: 100 }, ({ term }) => fence.admit(term));
    await fleet.cluster.advance(3_500);
    expect(fleet.runs.map(({ second, term }) => [second, term])).toEqual([
      [1, 1n],
      [2, 1n],
      [3, 1n],
    ]);
    expect(fleet.reports).toMatchObject(Array.from({ length: 3 }, () => ({ type: 'failed', error: { code: 'STALE_TERM' } })));
  });

  it('runs on after an outage of the store', async () => {
    await using fleet = new Fleet();
    fleet.start('a', { maxLate: 100 });
    await fleet.cluster.advance(2_500);
    fleet.cluster.cutOff('a');
    await fleet.cluster.advance(30_000);
    fleet.cluster.heal('a');
    await fleet.cluster.advance(20_000);
    expect(fleet.seconds).toEqual(Array.from({ length: 52 }, (_, index) => index + 1));
    expect(fleet.reports.filter(({ type }) => type !== 'interrupted')).toEqual([]);
  });

  it('whose work does not stop does not begin its next slot beside it, also after another job has failed', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    let isRefused = true;
    const nextRun = (after: Date): Date => {
      if (isRefused && secondsOf(after) > 1) throw new StoreError('UNAVAILABLE', 'notSent', 'the claim of the job failed');
      return every(1_000).nextRun(after) ?? expect.unreachable();
    };
    cron.add('fails', { nextRun }, () => {});
    cron.add('stuck', every(1_000), (run) => {
      fleet.note('a', run);
      return new Promise(() => {});
    });
    void start();
    await fleet.cluster.advance(5_000);
    isRefused = false;
    await fleet.cluster.advance(60_000);
    expect(fleet.runs.map(({ job, second, term }) => [job, second, term])).toEqual([['stuck', 1, 1n]]);
  });

  it('whose work does not stop holds up neither the other processes nor the end of its own', async () => {
    await using fleet = new Fleet();
    const stuck = fleet.start('a', {}, ({ slot }) => (secondsOf(slot) === 2 ? new Promise(() => {}) : undefined));
    await fleet.cluster.advance(2_500);
    fleet.start('b');
    await fleet.cluster.advance(1_000);
    await fleet.cluster.run(stuck.member.shutdown());
    await fleet.cluster.advance(5_000);
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b' });
    const slot = new Date(Date.UTC(2030, 0, 1, 0, 0, 2));
    expect(fleet.reports).toContainEqual({ type: 'interrupted', job: 'tick', slot, term: 1n });
  });
});

describe('a job whose record cannot be read', () => {
  /** Writes a record of another version, over the entry if there is one. */
  async function spoil(fleet: Fleet, job: string): Promise<void> {
    const { store } = fleet.cluster.process('other');
    const key = `cron/cron/${job}`;
    const put = new TextEncoder().encode('{"v":2,"slot":"2030-01-01T00:00:00.000Z","term":"1","state":"finished"}');
    const entry = await fleet.cluster.run(store.read(key, { timeoutMs: 1_000 }));
    await fleet.cluster.run(store.compareAndSwap([{ key, expect: entry?.revision ?? null, put }], { timeoutMs: 1_000 }));
  }

  const failedAt = (second: number): unknown => ({
    type: 'failed',
    job: 'bad',
    slot: new Date(START_MS + second * 1_000),
    term: 1n,
    error: invalid('FOREIGN_DATA'),
  });

  it('fails at each of its slots, and the other jobs run on', async () => {
    await using fleet = new Fleet();
    await spoil(fleet, 'bad');
    const { cron, start } = fleet.process('a');
    cron.add('bad', every(2_000), () => expect.unreachable());
    cron.add('good', every(1_000), (run) => fleet.note('a', run));
    void start();
    await fleet.cluster.advance(4_500);
    expect(fleet.runs.map(({ second, term }) => [second, term])).toEqual([1, 2, 3, 4].map((second) => [second, 1n]));
    expect(fleet.reports).toEqual([failedAt(2), failedAt(4)]);
  });

  it('goes on with its next slot when the record is deleted', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    cron.add('bad', every(1_000), (run) => fleet.note('a', run));
    void start();
    await fleet.cluster.advance(1_500);
    await spoil(fleet, 'bad');
    await fleet.cluster.advance(1_000);
    const { store } = fleet.cluster.process('other');
    const key = 'cron/cron/bad';
    const { revision = null } = (await fleet.cluster.run(store.read(key, { timeoutMs: 1_000 }))) ?? {};
    if (revision === null) throw new Error('there is no record');
    await fleet.cluster.run(store.compareAndSwap([{ key, expect: revision, delete: true }], { timeoutMs: 1_000 }));
    await fleet.cluster.advance(2_000);
    expect(fleet.seconds).toEqual([1, 3, 4]);
    expect(fleet.reports).toEqual([failedAt(2)]);
  });

  it('fails at the slots that it has missed meanwhile', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    cron.add('bad', every(1_000), (run) => {
      fleet.note('a', run);
      return stopped;
    });
    void start();
    await fleet.cluster.advance(1_500);
    await spoil(fleet, 'bad');
    await fleet.cluster.advance(4_000);
    stop();
    await fleet.cluster.advance(0);
    expect(fleet.seconds).toEqual([1]);
    // The end of the first run, the last of the slots that are not to run late, and the others.
    expect(fleet.reports).toEqual([failedAt(1), failedAt(3), failedAt(4), failedAt(5)]);
  });
});

describe('missed slots', () => {
  /** A leader whose write of missed slots is applied, and never answered. */
  async function startUnanswered(fleet: Fleet, options: FleetCronOptions): Promise<void> {
    fleet.start('a', options);
    await fleet.cluster.advance(3_500);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(60_000);
    const { store } = fleet.cluster.process('b');
    const swap = store.compareAndSwap.bind(store);
    vi.spyOn(store, 'compareAndSwap').mockImplementation(async (changes, call) => {
      const result = await swap(changes, call);
      return changes.some((change) => 'put' in change && isMissed(change.put)) ? new Promise(() => {}) : result;
    });
    fleet.start('b', options);
    await fleet.cluster.advance(2_000);
    expect(fleet.record('tick')).toMatchObject({ state: 'missed', term: '2' });
  }

  function isMissed(value: Uint8Array): boolean {
    return new TextDecoder().decode(value).includes('"missed"');
  }

  it('whose record got no answer before the leader ended are reported by the next one', async () => {
    await using fleet = new Fleet();
    await startUnanswered(fleet, {});
    expect(fleet.reports).toEqual([]);
    fleet.cluster.crash('b');
    await fleet.cluster.advance(10_000);
    fleet.start('c', { maxLate: 100 });
    await fleet.cluster.advance(2_000);
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'tick', from: new Date(START_MS + 4_000), to: expect.any(Date) }]);
    const [missed] = fleet.reports;
    const next = missed?.type === 'missed' ? secondsOf(missed.to) + 1 : 0;
    expect(fleet.seconds.slice(3)).toEqual(Array.from({ length: fleet.seconds.length - 3 }, (_, index) => next + index));
  });

  it('that nobody wants to hear of are not reported by the next leader either', async () => {
    await using fleet = new Fleet();
    await startUnanswered(fleet, { misfire: 'skip' });
    fleet.cluster.crash('b');
    await fleet.cluster.advance(10_000);
    fleet.start('c');
    await fleet.cluster.advance(2_000);
    // Only the slots that nobody has recorded.
    expect(fleet.reports.map((each) => each.type === 'missed' && secondsOf(each.from) > 60)).toEqual([true]);
  });

  it('are reported once, although a later leader reads their record', async () => {
    await using fleet = new Fleet();
    fleet.start('a', { misfire: 'report' });
    await fleet.cluster.advance(3_500);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(60_000);
    const { cron, start, member } = fleet.process('b', { misfire: 'report' });
    cron.add('tick', { nextRun: (after) => (secondsOf(after) < 10 ? every(1_000).nextRun(after) : null) }, () => {});
    void start();
    await fleet.cluster.advance(2_000);
    expect(fleet.reports).toHaveLength(1);
    expect(fleet.record('tick')).toEqual({ v: 1, slot: '2030-01-01T00:00:10.000Z', term: '2', state: 'missed', next: 'never' });
    await fleet.cluster.run(member.close());
    fleet.start('c', { misfire: 'skip' });
    await fleet.cluster.advance(2_000);
    expect(fleet.reports).toHaveLength(1);
  });
});

describe('run', () => {
  it('rejects if a schedule goes back, after the other jobs have stopped', async () => {
    await using fleet = new Fleet();
    const { cron, member } = fleet.process('a');
    let stopped = false;
    cron.add('busy', every(1_000), async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped = true;
    });
    cron.add('wrong', { nextRun: (after) => (secondsOf(after) < 2 ? every(2_000).nextRun(after) : new Date(0)) }, () => {});
    await expect(fleet.cluster.run(cron.run())).rejects.toEqual(invalid());
    expect(stopped).toBe(true);
    expect(await fleet.cluster.run(member.election('cron').candidates())).toEqual([]);
  });

  it('ends the leadership with the reason `workFailed` when it rejects with an error', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    let ended: Promise<unknown> | undefined;
    cron.add('tick', every(1_000), ({ leadership }) => {
      ended = leadership.ended;
    });
    cron.add('wrong', { nextRun: (after) => (secondsOf(after) < 2 ? every(2_000).nextRun(after) : new Date(0)) }, () => {});
    await expect(fleet.cluster.run(cron.run())).rejects.toEqual(invalid());
    expect(await ended).toMatchObject({ reason: 'workFailed', error: { code: 'INVALID_OPTION' } });
  });

  it('rejects with the reason of its signal, and can be called again', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    cron.add('tick', every(1_000), (run) => fleet.note('a', run));
    const stop = new AbortController();
    const running = cron.run({ signal: stop.signal });
    expect(() => cron.add('other', every(1_000), () => {})).toThrow('job is "other": it must be added before run() is called');
    await fleet.cluster.advance(1_500);
    stop.abort(new Error('enough'));
    await expect(fleet.cluster.run(running)).rejects.toThrow('enough');
    void cron.run();
    await fleet.cluster.advance(1_500);
    expect(fleet.runs.map(({ second, term }) => [second, term])).toEqual([
      [1, 1n],
      [2, 2n],
      [3, 2n],
    ]);
  });

  it('rejects while it is under way, and the jobs run on', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.start('a');
    await fleet.cluster.advance(1_500);
    await expect(cron.run()).rejects.toEqual(invalid('ALREADY_CAMPAIGNING'));
    await fleet.cluster.advance(1_000);
    expect(fleet.seconds).toEqual([1, 2]);
  });

  it('leaves no timer behind', async () => {
    await using fleet = new Fleet();
    const { cron, member } = fleet.process('a');
    cron.add('tick', every(1_000), () => {});
    const running = cron.run();
    await fleet.cluster.advance(1_500);
    await fleet.cluster.run(member.close());
    await fleet.cluster.run(running);
    expect([fleet.cluster.clock.timers, fleet.cluster.clock.holds]).toEqual([0, 0]);
  });
});

describe('an option', () => {
  const wrong: readonly object[] = [
    { misfire: 'late' },
    { maxLate: 0 },
    { maxLate: 1.5 },
    { maxLate: 101 },
    { graceMs: 49 },
    { onReport: 'console' },
    { misfires: 'run' },
  ];
  it.each(wrong)('such as %o is refused', async (options) => {
    await using fleet = new Fleet();
    const election = fleet.cluster.member('a').election('cron');
    expect(() => new FleetCron(election, options)).toThrow(invalid());
  });

  it('that is not one of the known words is shown', async () => {
    await using fleet = new Fleet();
    const election = fleet.cluster.member('a').election('cron');
    const options: object = { misfire: 'rnu' };
    expect(() => new FleetCron(election, options)).toThrow('misfire is "rnu": it must be one of run, report, skip');
  });

  it('cannot be null', async () => {
    await using fleet = new Fleet();
    const election = fleet.cluster.member('a').election('cron');
    expect(() => Reflect.construct(FleetCron, [election, null])).toThrow(invalid());
  });

  it('of a coordinator is its FleetCron, and not an election', async () => {
    await using fleet = new Fleet();
    for (const cron of [undefined, fleet.cluster.member('a').election('cron')])
      expect(() => Reflect.construct(NodeCronCoordinator, [cron])).toThrow('it must be a FleetCron');
  });

  it('of a job is checked when it is added, and so are its name, its schedule and its work', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    cron.add('tick', every(1_000), () => {});
    const jobs: readonly (() => void)[] = [
      () => cron.add('tick', every(1_000), () => {}),
      () => cron.add('other', every(1_000), () => {}, { maxLate: 0 }),
    ];
    for (const add of jobs) expect(add).toThrow(invalid());
    expect(() => cron.add('tick', every(1_000), () => {})).toThrow('job is "tick": it must be a name that no other job has');
    expect(() => cron.add('a/b', every(1_000), () => {})).toThrow(invalid('INVALID_NAME'));
  });

  it.each([
    [
      'has no time within 8 years',
      () => cronSchedule(new CronTime('0 0 0 30 2 *', 'UTC')),
      'No execution date was found in the next 8 years',
    ],
    ['goes back', () => ({ nextRun: () => new Date(0) }), 'it must be a Date after'],
  ])('of a job is refused if its schedule %s, and the error names the job', async (_, scheduleOf, reason) => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    const refusal = { code: 'INVALID_OPTION', message: expect.stringMatching(new RegExp(`schedule of the job "never".*${reason}`)) };
    expect(() => cron.add('never', scheduleOf(), () => {})).toThrow(expect.objectContaining(refusal));
    cron.add('never', { nextRun: () => null }, () => {});
  });
});

describe('without onReport', () => {
  it('a failed run is a warning of Node, and so is an onReport that throws', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await using fleet = new Fleet();
    const fail = (): void => {
      throw new Error('no paper');
    };
    const { member, cron } = fleet.process('a', { onReport: fail });
    cron.add('tick', every(1_000), fail);
    void cron.run();
    const quiet: FleetCronOptions = { clock: fleet.clockOf('b') };
    const other = new FleetCron(fleet.cluster.member('b').election('other'), quiet);
    other.add('tick', every(1_000), fail);
    void other.run();
    await fleet.cluster.advance(1_500);
    await fleet.cluster.run(member.close());
    const codes = warning.mock.calls.map(([text, options]) => [String(text).split('\n')[0], options]);
    warning.mockRestore();
    expect(codes).toEqual(
      expect.arrayContaining([
        ['onReport failed: Error: no paper', { type: 'CronWarning', code: 'INCUMBENT_CRON_REPORT' }],
        [
          'tick: the run of 2030-01-01T00:00:01.000Z in term 1 failed: Error: no paper',
          { type: 'CronWarning', code: 'INCUMBENT_CRON_FAILED' },
        ],
      ]),
    );
  });
});
