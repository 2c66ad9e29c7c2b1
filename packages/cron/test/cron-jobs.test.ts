import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { describe, expect, it } from 'vitest';
import { addCronJobs, FleetCron } from '../src/index.ts';
import { Fleet } from './support/fleet.ts';

describe('jobs of cron', () => {
  it('run once in a fleet, by the timer of its cron and not by their own', async () => {
    await using fleet = new Fleet();
    const jobs = ['a', 'b'].map((id) => {
      const { cron, start } = fleet.process(id);
      const onTick = async (): Promise<void> => {
        const { currentRun } = FleetCron;
        if (currentRun !== undefined) fleet.note(id, currentRun);
      };
      const job = CronJob.from({ cronTime: '* * * * * *', onTick, start: true, timeZone: 'UTC' });
      addCronJobs(cron, [['tick', job]]);
      void start();
      return job;
    });
    expect(jobs.map(({ isActive }) => isActive)).toEqual([false, false]);
    await fleet.cluster.advance(3_500);
    expect(fleet.seconds).toEqual([1, 2, 3]);
    expect(fleet.record('tick')).toMatchObject({ state: 'finished' });
  });

  it('that throw are reported, and their own handler gets the error too', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const error = new Error('no paper');
    const handled: unknown[] = [];
    const job = CronJob.from({
      cronTime: '* * * * * *',
      onTick: async () => {
        throw error;
      },
      errorHandler: (each) => handled.push(each),
    });
    addCronJobs(cron, new Map([['tick', job]]));
    void start();
    await fleet.cluster.advance(2_500);
    expect(handled).toEqual([error, error]);
    expect(fleet.reports).toMatchObject([
      { type: 'failed', error },
      { type: 'failed', error },
    ]);
  });
});

describe('a job of cron that is refused', () => {
  it('is not changed', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    const errorHandler = (): void => {};
    const job = CronJob.from({ cronTime: '* * * * * *', onTick: () => {}, errorHandler });
    cron.add('tick', { nextRun: () => null }, () => {});
    expect(() => addCronJobs(cron, [['tick', job]])).toThrow(/tick/);
    expect([job.waitForCompletion, job.errorHandler]).toEqual([false, errorHandler]);
  });
});

describe('a job of cron whose callback still runs outside of the fleet', () => {
  it('does not count as run', async () => {
    await using fleet = new Fleet();
    const { cron, start } = fleet.process('a');
    const { promise, resolve } = Promise.withResolvers<void>();
    let ran = 0;
    const onTick = async (): Promise<void> => {
      if (FleetCron.currentRun === undefined) return promise;
      ran += 1;
    };
    const job = CronJob.from({ cronTime: '* * * * * *', onTick, runOnInit: true, waitForCompletion: true, timeZone: 'UTC' });
    addCronJobs(cron, [['tick', job]]);
    void start();
    await fleet.cluster.advance(1_500);
    expect(fleet.reports).toMatchObject([{ type: 'failed', error: { message: expect.stringContaining('still runs') } }]);
    resolve();
    await fleet.cluster.advance(1_000);
    expect([ran, fleet.reports.length]).toEqual([1, 1]);
  });
});

describe('methods of a NestJS application with @Cron', () => {
  it('run once in a fleet', async () => {
    await using fleet = new Fleet();
    const apps = await Promise.all(
      ['a', 'b'].map(async (id) => {
        class Reports {
          tick(): void {
            const { currentRun } = FleetCron;
            if (currentRun !== undefined) fleet.note(id, currentRun);
          }
        }
        decorate(Reports, 'tick', Cron('*/2 * * * * *', { name: 'tick', timeZone: 'UTC' }));
        class App {
          readonly name = 'reports';
        }
        Module({ imports: [ScheduleModule.forRoot()], providers: [Reports] })(App);
        const app = await NestFactory.createApplicationContext(App, { logger: false });
        const { cron, start } = fleet.process(id);
        addCronJobs(cron, app.get(SchedulerRegistry).getCronJobs());
        void start();
        return app;
      }),
    );
    await fleet.cluster.advance(6_500);
    expect(fleet.seconds).toEqual([2, 4, 6]);
    await Promise.all(apps.map((app) => app.close()));
  });

  it('need a name', async () => {
    await using fleet = new Fleet();
    const { cron } = fleet.process('a');
    const job = CronJob.from({ cronTime: '* * * * * *', onTick: () => {} });
    const jobs: [string, CronJob][] = [[crypto.randomUUID(), job]];
    expect(() => addCronJobs(cron, jobs)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

/** Applies a decorator of a method, as `@Cron(…)` above it does. */
function decorate(target: new () => { tick(): void }, name: 'tick', decorator: MethodDecorator): void {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name);
  if (descriptor !== undefined) decorator(target.prototype, name, descriptor);
}
