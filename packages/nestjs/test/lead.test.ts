import { type CanActivate, Inject, type INestApplicationContext, Logger, Module, Scope, type Type } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { type ElectionOptions, type Leadership, Member } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ElectionHost, IncumbentHealthIndicator, IncumbentModule, Lead, LeaderCron, LeaderGuard } from '../src/index.ts';
import { clusterOfEachTest, contextOf, decorate, optionsFor, startApp } from './support/app.ts';

const cluster = clusterOfEachTest();
let said: string[];
beforeEach(() => {
  said = [];
});

/** A provider with work of the leader, which notes its begin and its end. */
function mailer(id: string, work: (leadership: Leadership) => unknown = ({ ended }) => ended, options?: ElectionOptions): Type {
  class Mailer {
    async send(leadership: Leadership): Promise<void> {
      said.push(`${id} begins in term ${leadership.term}`);
      await work(leadership);
      said.push(`${id} ends`);
    }
  }
  decorate(Mailer, 'send', Lead('mailer', options));
  return Mailer;
}

describe('a method with @Lead', () => {
  it('runs in the process that leads, and is drained before the next one begins', async () => {
    const first = await startApp(cluster(), 'a', { providers: [mailer('a')] });
    await cluster().advance(500);
    const second = await startApp(cluster(), 'b', { providers: [mailer('b')] });
    await cluster().advance(5_000);
    expect(said).toEqual(['a begins in term 1']);
    await cluster().run(first.close());
    await cluster().advance(500);
    expect(said).toEqual(['a begins in term 1', 'a ends', 'b begins in term 2']);
    await cluster().run(second.close());
  });

  it('runs again in the next term after a lost one', async () => {
    const app = await startApp(cluster(), 'a', { providers: [mailer('a')] });
    await cluster().advance(500);
    cluster().expireLease('a');
    await cluster().advance(5_000);
    expect(said).toEqual(['a begins in term 1', 'a ends', 'a begins in term 2']);
    await cluster().run(app.close());
  });

  it('leaves nothing in the store after the application has closed, and its monitor stops', async () => {
    const app = await startApp(cluster(), 'a', { providers: [mailer('a')] });
    await cluster().advance(500);
    const { monitor } = app.get(ElectionHost);
    await cluster().run(app.close());
    expect(
      cluster()
        .server.entries()
        .map(({ key }) => key),
    ).toEqual([expect.stringContaining('term')]);
    expect(monitor.prometheus()).toContain('reason="memberClosed"');
  });
});

describe('a provider', () => {
  it('with several tokens runs its method once', async () => {
    const Mailer = mailer('a');
    const providers = [
      { provide: 'ALIAS', useExisting: Mailer },
      Mailer,
      { provide: 'FACTORY', useFactory: (same: unknown) => same, inject: [Mailer] },
    ];
    const app = await startApp(cluster(), 'a', { providers });
    await cluster().advance(500);
    expect([said, app.get('ALIAS') === app.get('FACTORY')]).toEqual([['a begins in term 1'], true]);
    await cluster().run(app.close());
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])('that is not made once, at the start, prevents the start (scope %i)', async (scope) => {
    const Mailer = mailer('a');
    const providers = [{ provide: Mailer, useClass: Mailer, scope }];
    await expect(startApp(cluster(), 'a', { providers })).rejects.toThrow(/^@Lead of Mailer\.send .* with the default scope$/);
  });

  it('that prevents the start leaves the elections of all other providers alone', async () => {
    class Reports {
      async sendReport(): Promise<void> {}
    }
    decorate(Reports, 'sendReport', LeaderCron('0 * * * * *'));
    const module = IncumbentModule.forRoot(optionsFor(cluster(), 'a'));
    const started = contextOf({ imports: [module], providers: [mailer('a'), Reports] });
    await expect(started).rejects.toThrow(/does not know the job "Reports\.sendReport" .*: import ScheduleModule/);
    await cluster().advance(5_000);
    expect(said).toEqual([]);
    expect(cluster().server.entries()).toEqual([]);
  });

  it('that depends on a provider scoped to a request prevents the start', async () => {
    const Mailer = mailer('a');
    Inject('REQUEST_ID')(Mailer, undefined, 0);
    const providers = [Mailer, { provide: 'REQUEST_ID', useFactory: () => 1, scope: Scope.REQUEST }];
    await expect(startApp(cluster(), 'a', { providers })).rejects.toThrow('@Lead of Mailer.send');
  });

  it('prevents the start if its election has other work in this process', async () => {
    class Reports {
      async sendReport(): Promise<void> {}
    }
    decorate(Reports, 'sendReport', LeaderCron('0 * * * * *'));
    const twice = startApp(cluster(), 'a', { providers: [mailer('a'), mailer('b')] });
    await expect(twice).rejects.toThrow('the election "mailer" has two works, @Lead of Mailer.send and @Lead of Mailer.send:');
    const jobs = startApp(cluster(), 'a', { providers: [mailer('a'), Reports], cron: { election: 'mailer' } });
    await expect(jobs).rejects.toThrow('the election "mailer" has two works, @Lead of Mailer.send and the jobs with @LeaderCron:');
  });
});

describe('a question for the leader in onModuleInit', () => {
  it('leaves the election and its options to @Lead', async () => {
    const asked: boolean[] = [];
    const Asks = {
      provide: 'ASKS',
      useFactory: (host: ElectionHost) => ({ onModuleInit: () => asked.push(host.isLeader('mailer')) }),
      inject: [ElectionHost],
    };
    const app = await startApp(cluster(), 'a', { providers: [mailer('a'), Asks] });
    await cluster().advance(500);
    expect([asked, said]).toEqual([[false], ['a begins in term 1']]);
    await cluster().run(app.close());
  });
});

describe('an election that a provider makes in onModuleInit', () => {
  /** A provider that subscribes to the election before `@Lead` makes it. */
  const subscriber = {
    provide: 'SUBSCRIBER',
    useFactory: (host: ElectionHost) => ({
      onModuleInit: () => host.election('mailer').onElected(({ term }) => said.push(`elected in term ${term}`)),
    }),
    inject: [ElectionHost],
  };

  it('is the one of @Lead, whose work runs once', async () => {
    const app = await startApp(cluster(), 'a', { providers: [subscriber, mailer('a')] });
    await cluster().advance(500);
    expect(said.toSorted()).toEqual(['a begins in term 1', 'elected in term 1']);
    await cluster().run(app.close());
  });

  it('prevents the start if @Lead has options, which come too late', async () => {
    const starting = startApp(cluster(), 'a', { providers: [subscriber, mailer('a', undefined, { value: 'a' })] });
    await expect(starting).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/^@Lead of Mailer\.send has options that the election "mailer" refuses: .* made before/),
    });
  });
});

describe('LeaderGuard', () => {
  /** What the guard answers, or throws. */
  const answerOf = (app: INestApplicationContext, Guard: Type<CanActivate>): unknown => {
    try {
      return Reflect.apply(app.get(Guard).canActivate, app.get(Guard), []);
    } catch (error) {
      return error;
    }
  };
  const refusal = expect.objectContaining({ status: 503, message: 'this process does not lead "mailer"' });

  it('lets requests pass only while the process leads', async () => {
    const Guard = LeaderGuard('mailer');
    const apps: INestApplicationContext[] = [];
    for (const id of ['a', 'b']) {
      apps.push(await startApp(cluster(), id, { providers: [mailer(id), Guard] }));
      await cluster().advance(500);
    }
    expect(apps.map((app) => answerOf(app, Guard))).toEqual([true, refusal]);
    for (const app of apps) await cluster().run(app.close());
  });

  it('answers 503 while the application closes and the work still drains', async () => {
    const Guard = LeaderGuard('mailer');
    const [draining, work] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const drain = async ({ ended }: Leadership): Promise<void> => {
      await ended;
      draining.resolve();
      await work.promise;
    };
    const app = await startApp(cluster(), 'a', { providers: [mailer('a', drain), Guard] });
    await cluster().advance(500);
    expect(answerOf(app, Guard)).toBe(true);
    const closing = app.close();
    await cluster().run(draining.promise);
    expect(answerOf(app, Guard)).toEqual(refusal);
    work.resolve();
    await cluster().run(closing);
  });
});

describe('the health indicator', () => {
  it('is up in processes that lead and in those that do not', async () => {
    const apps: INestApplicationContext[] = [];
    for (const id of ['a', 'b']) {
      apps.push(await startApp(cluster(), id, { imports: [TerminusModule], providers: [mailer(id)] }));
      await cluster().advance(500);
    }
    const results = apps.map(async (app) => {
      const indicator = app.get(IncumbentHealthIndicator);
      return app.get(HealthCheckService).check([() => indicator.check('elections')]);
    });
    expect(await Promise.all(results)).toMatchObject([
      { status: 'ok', info: { elections: { status: 'up', leads: [{ member: 'a', term: '1' }], failures: [] } } },
      { status: 'ok', info: { elections: { status: 'up', leads: [], failures: [] } } },
    ]);
    for (const app of apps) await cluster().run(app.close());
  });

  it('is down after work has thrown, because this process leads no more', async () => {
    const fail = (): never => {
      throw new Error('no paper');
    };
    const app = await startApp(cluster(), 'a', { imports: [TerminusModule], providers: [mailer('a', fail)] });
    await cluster().advance(500);
    const indicator = app.get(IncumbentHealthIndicator);
    const checked = app.get(HealthCheckService).check([() => indicator.check('elections')]);
    await expect(checked).rejects.toMatchObject({
      status: 503,
      response: { error: { elections: { status: 'down', failures: [{ election: 'mailer', error: 'Error: no paper' }] } } },
    });
    await cluster().run(app.close());
  });
});

describe('the module', () => {
  it('gets its options from a factory', async () => {
    const useFactory = (): ReturnType<typeof optionsFor> => optionsFor(cluster(), 'a');
    const app = await contextOf({ imports: [IncumbentModule.forRootAsync({ useFactory })], providers: [mailer('a')] });
    await cluster().advance(500);
    expect(said).toEqual(['a begins in term 1']);
    expect(app.get(ElectionHost).member).toBeInstanceOf(Member);
    await cluster().run(app.close());
  });

  it('is refused twice, because guards could then ask a host that does not lead, and nobody would close its store', async () => {
    const [first, second] = ['a', 'b'].map((id) => IncumbentModule.forRoot(optionsFor(cluster(), id)));
    const both = [first!, second!];
    await expect(contextOf({ imports: both, providers: [mailer('a')] })).rejects.toThrow(/^IncumbentModule is imported 2 times/);
    class Feature {
      readonly name = 'feature';
    }
    Module({ imports: [first!] })(Feature);
    const app = await contextOf({ imports: [first!, Feature], providers: [mailer('a')] });
    await cluster().run(app.close());
  });

  it('refuses options that it does not know, when the application starts', async () => {
    const options = { ...optionsFor(cluster(), 'a'), storeUrl: 'memory:' };
    await expect(contextOf({ imports: [IncumbentModule.forRoot(options)] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        'there is no IncumbentModule option "storeUrl": the options are store, waitMs, signal, onRetry, member, acceptWeakStore, logElections, cron',
    });
    const wrong = { ...optionsFor(cluster(), 'a'), logElections: 'all' };
    const module = Reflect.apply(IncumbentModule.forRoot, IncumbentModule, [wrong]);
    await expect(contextOf({ imports: [module] })).rejects.toThrow('logElections is a string: it must be true or false');
  });
});

describe('the log', () => {
  /** What the `Logger` of NestJS prints about elections, as `level text`. */
  function linesOf(): string[] {
    const lines: string[] = [];
    for (const level of ['log', 'warn', 'error', 'debug', 'verbose'] as const)
      vi.spyOn(Logger.prototype, level).mockImplementation(function add(this: object, text: unknown): void {
        // NestJS logs by the same class, in other contexts.
        if (Reflect.get(this, 'context') === 'Incumbent') lines.push(`${level} ${String(text)}`);
      });
    return lines;
  }
  afterEach(() => vi.restoreAllMocks());

  it('says that this process is elected, and that its leadership has ended and why', async () => {
    const lines = linesOf();
    const app = await startApp(cluster(), 'a', { providers: [mailer('a')] });
    await cluster().advance(500);
    cluster().expireLease('a');
    await cluster().advance(5_000);
    await cluster().run(app.close());
    expect(lines.filter((line) => line.includes('mailer'))).toEqual([
      'log elected: this process leads "mailer" in term 1',
      expect.stringMatching(/^warn leadership of "mailer" in term 1 ended because its entry in the queue is gone/),
      'log elected: this process leads "mailer" in term 2',
      'log leadership of "mailer" in term 2 ended because its member was closed',
    ]);
  });

  it('has the other events of the member with their fields, and none of the level debug', async () => {
    const lines = linesOf();
    const app = await startApp(cluster(), 'a', { providers: [mailer('a')] });
    await cluster().advance(500);
    cluster().cutOff('a');
    await cluster().advance(4_000);
    cluster().heal('a');
    await cluster().run(app.close());
    expect(lines).toContainEqual(expect.stringMatching(/^warn a renewal is overdue: .*\{.*"event":"sessionSuspect".*\}$/));
    expect(lines.filter((line) => /^(?:debug|verbose)/.test(line))).toEqual([]);
  });

  it('does not mention elections with logElections: false, nor if the member has a logger of its own', async () => {
    const lines = linesOf();
    const own: string[] = [];
    const add = (_: object, text: string): void => void own.push(text);
    const logger = { debug: add, info: add, warn: add, error: add };
    const { member, ...options } = optionsFor(cluster(), 'a');
    for (const each of [{ logElections: false }, { member: { ...member, logger } }]) {
      const imports = [IncumbentModule.forRoot({ ...options, ...(member === undefined ? {} : { member }), ...each })];
      const app = await contextOf({ imports, providers: [mailer('a')] });
      await cluster().advance(500);
      await cluster().run(app.close());
    }
    expect(lines).toEqual([]);
    expect(own).toContain('elected');
  });

  it('refuses a Logger of NestJS as the logger of the member, which has no info', async () => {
    const options = optionsFor(cluster(), 'a');
    const module = Reflect.apply(IncumbentModule.forRoot, IncumbentModule, [{ ...options, member: { logger: new Logger('App') } }]);
    await expect(contextOf({ imports: [module] })).rejects.toThrow('an object with the functions debug, info, warn and error');
  });
});
