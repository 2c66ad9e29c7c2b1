import { Logger, type Provider, Scope } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import type { CronReport, CronRun, JobOptions } from '@incumbent/cron';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { IncumbentModule, LeaderCron } from '../src/index.ts';
import { print } from '../src/print.ts';
import { clusterOfEachTest, contextOf, decorate, optionsFor, startApp } from './support/app.ts';

const cluster = clusterOfEachTest();
let ran: string[];
beforeEach(() => {
  ran = [];
});

interface Options extends JobOptions {
  readonly name?: string;
  readonly disabled?: boolean;
}

/** A provider with one job, which notes its runs. */
function reports(id: string, options: Options, work: (run: CronRun) => unknown = () => {}) {
  class Reports {
    tick(run: CronRun): unknown {
      ran.push(`${id} ${run.slot.toISOString().slice(17, 19)} in term ${run.term}`);
      return work(run);
    }
  }
  decorate(Reports, 'tick', LeaderCron('*/2 * * * * *', { timeZone: 'UTC', ...options }));
  return Reports;
}

describe('a method with @LeaderCron', () => {
  it('runs once per slot in all processes, and in the next one after the leader has closed', async () => {
    const first = await startApp(cluster(), 'a', { providers: [reports('a', {})] });
    await cluster().advance(500);
    const second = await startApp(cluster(), 'b', { providers: [reports('b', {})] });
    await cluster().advance(4_000);
    await cluster().run(first.close());
    await cluster().advance(2_000);
    expect(ran).toEqual(['a 02 in term 1', 'a 04 in term 1', 'b 06 in term 2']);
    await cluster().run(second.close());
  });

  it('is a job of its class and its name, unless it is given one', async () => {
    const app = await startApp(cluster(), 'a', { providers: [reports('a', {})] });
    expect([...app.get(SchedulerRegistry).getCronJobs().keys()]).toEqual(['Reports.tick']);
    await cluster().advance(3_000);
    expect(
      cluster()
        .server.entries()
        .map(({ key }) => key),
    ).toContain('cron/cron/Reports.tick');
    await cluster().run(app.close());
    const named = await startApp(cluster(), 'b', { providers: [reports('b', { name: 'report' })], cron: { election: 'jobs' } });
    await cluster().advance(3_000);
    expect(
      cluster()
        .server.entries()
        .map(({ key }) => key),
    ).toContain('cron/jobs/report');
    await cluster().run(named.close());
  });

  it('has no timer of @nestjs/schedule, and a method with @Cron keeps its own', async () => {
    class Others {
      tick(): void {}
    }
    decorate(Others, 'tick', Cron('0 0 1 1 *', { name: 'other' }));
    const app = await startApp(cluster(), 'a', { providers: [reports('a', { name: 'report' }), Others] });
    const jobs = app.get(SchedulerRegistry).getCronJobs();
    expect([...jobs].map(([name, { isActive }]) => [name, isActive])).toEqual([
      ['report', false],
      ['other', true],
    ]);
    await cluster().run(app.close());
  });

  it('ends its run before the application hands over, with finishWithinMs', async () => {
    const got: CronReport[] = [];
    const work = Promise.withResolvers<void>();
    const cron = { finishWithinMs: 20_000, onReport: (report: CronReport) => got.push(report) };
    const first = await startApp(cluster(), 'a', { providers: [reports('a', {}, () => work.promise)], cron });
    await cluster().advance(2_500);
    const second = await startApp(cluster(), 'b', { providers: [reports('b', {})], cron });
    const closing = first.close();
    await cluster().advance(3_000);
    work.resolve();
    await cluster().run(closing);
    await cluster().advance(1_000);
    expect(ran).toEqual(['a 02 in term 1', 'b 04 in term 2', 'b 06 in term 2']);
    expect(got).toEqual([]);
    await cluster().run(second.close());
  });

  it('prevents the start with a finishWithinMs that is no time', async () => {
    for (const finishWithinMs of [-1, 86_400_001, Number.NaN, '25000' as never]) {
      const starting = startApp(cluster(), 'a', { providers: [reports('a', {})], cron: { finishWithinMs } });
      await expect(starting).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('cron.finishWithinMs is ') });
    }
  });

  it('is interrupted when finishWithinMs is over', async () => {
    const got: CronReport[] = [];
    const until = (signal: AbortSignal): Promise<void> => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const cron = { finishWithinMs: 3_000, onReport: (report: CronReport) => got.push(report) };
    const app = await startApp(cluster(), 'a', { providers: [reports('a', {}, ({ signal }) => until(signal))], cron });
    await cluster().advance(2_500);
    const closing = app.close();
    await cluster().advance(2_900);
    expect(got).toEqual([]);
    await cluster().run(closing);
    expect(got).toMatchObject([{ type: 'aborted', job: 'Reports.tick' }]);
  });

  it('that throws is reported, and runs at the next slot', async () => {
    const got: CronReport[] = [];
    const error = new Error('no paper');
    const fail = (): never => {
      throw error;
    };
    const app = await startApp(cluster(), 'a', { providers: [reports('a', {}, fail)], cron: { onReport: (report) => got.push(report) } });
    await cluster().advance(5_000);
    expect(got).toMatchObject([
      { type: 'failed', job: 'Reports.tick', error },
      { type: 'failed', job: 'Reports.tick', error },
    ]);
    await cluster().run(app.close());
  });

  it('takes the options of a job: of several missed slots, the last maxLate run late', async () => {
    const first = await startApp(cluster(), 'a', { providers: [reports('a', { maxLate: 2 })] });
    await cluster().advance(2_500);
    await cluster().run(first.close());
    await cluster().advance(10_000);
    const second = await startApp(cluster(), 'b', { providers: [reports('b', { maxLate: 2 })], cron: { onReport: () => {} } });
    await cluster().advance(1_000);
    expect(ran).toEqual(['a 02 in term 1', 'b 08 in term 2', 'b 10 in term 2', 'b 12 in term 2']);
    await cluster().run(second.close());
  });

  it('does not run if it is disabled', async () => {
    const app = await startApp(cluster(), 'a', { providers: [reports('a', { disabled: true })] });
    await cluster().advance(5_000);
    expect(ran).toEqual([]);
    await cluster().run(app.close());
  });

  it('runs on whichever side of ScheduleModule the module is imported', async () => {
    const { ScheduleModule } = await import('@nestjs/schedule');
    const app = await contextOf({
      imports: [ScheduleModule.forRoot(), IncumbentModule.forRoot(optionsFor(cluster(), 'a'))],
      providers: [reports('a', {})],
    });
    await cluster().advance(3_000);
    expect(ran).toEqual(['a 02 in term 1']);
    await cluster().run(app.close());
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])('prevents the start in a provider with the scope %i, unless it is disabled', async (scope) => {
    const providersOf = (disabled: boolean): Provider[] => {
      const Reports = reports('a', { disabled });
      return [{ provide: Reports, useClass: Reports, scope }];
    };
    const app = await startApp(cluster(), 'a', { providers: providersOf(true) });
    await cluster().run(app.close());
    const refused = startApp(cluster(), 'b', { providers: providersOf(false) });
    await expect(refused).rejects.toThrow(/^@LeaderCron of Reports\.tick .* with the default scope$/);
  });

  it.each(['0 0 0 30 2 *', '0 0 0 31 4,6 *'])('prevents the start if its expression never matches: %s', async (expression) => {
    class Reports {
      tick(): void {}
    }
    decorate(Reports, 'tick', LeaderCron(expression, { timeZone: 'UTC' }));
    await expect(startApp(cluster(), 'a', { providers: [Reports] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('the schedule of the job "Reports.tick"'),
    });
  });

  it('without ScheduleModule prevents the start', async () => {
    const imports = [IncumbentModule.forRoot(optionsFor(cluster(), 'a'))];
    await expect(contextOf({ imports, providers: [reports('a', {})] })).rejects.toThrow('import ScheduleModule.forRoot()');
  });
});

describe('the log', () => {
  it('says why a run was told to stop, which may be an error of another job', () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    const reason = new Error('the schedule of another job failed');
    print({ type: 'aborted', job: 'report', slot: new Date('2030-01-01T00:00:02Z'), term: 3n, reason });
    const lines = warn.mock.calls.map(([line]) => line);
    warn.mockRestore();
    expect(lines).toEqual([`report: the run of 2030-01-01T00:00:02.000Z was told to stop: ${reason.message}`]);
  });
});
