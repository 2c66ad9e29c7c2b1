import diagnosticsChannel from 'node:diagnostics_channel';
import { MemoryServer } from '@incumbent/memory';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, vi } from 'vitest';
import { PausableClock } from '@incumbent/core/testing';
import { ElectionObserver, Member, type Renewal, type Renewer } from '../src/index.ts';
import { Monitor } from '../src/monitor.ts';
import { ABOUT, sceneOfEachTest } from './monitored.ts';

const begin = sceneOfEachTest();

describe('an option', () => {
  it.each([{ prefix: 'x' }, { now: 1 }])('such as %o is refused', (options) => {
    expect(() => Reflect.construct(Monitor, [options])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

it('a member without a store, such as one of the peer package, has no figure that says that it does not lead', () => {
  const world = begin();
  diagnosticsChannel.channel('incumbent:elected').publish({ algorithm: 'quorum', memberId: 'p', term: 1n });
  expect(world.figures('incumbent_leader')).toEqual([]);
  expect(world.figures('incumbent_elected_total')).toHaveLength(1);
});

it('a monitor that is created after a member has started warns once, and one that is created in time does not', async () => {
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const world = begin();
  const other = new Member(world.store, { memberId: 'b', ttlMs: 10_000, clock: world.clock });
  await world.clock.run(world.member.election('first').campaign());
  await world.clock.run(other.election('second').campaign());
  using _late = new Monitor();
  await world.clock.advance(10_000);
  await world.clock.run(other.close());
  const calls = [...warning.mock.calls];
  warning.mockRestore();
  expect(calls).toEqual([
    [expect.stringContaining('before the first member'), { type: 'IncumbentWarning', code: 'INCUMBENT_MONITOR_LATE' }],
  ]);
});

describe('metrics', () => {
  it('show who leads, its term and the number of elections', async () => {
    const world = begin();
    const leadership = await world.clock.run(world.member.election('jobs').campaign());
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 1`]);
    expect(world.figures('incumbent_term')).toEqual([`${ABOUT} ${leadership.term}`]);
    await world.clock.run(leadership.resign());
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 0`]);
    expect(world.figures('incumbent_term')).toEqual([]);
    expect(world.figures('incumbent_elected_total')).toEqual([`${ABOUT} 1`]);
    expect(world.figures('incumbent_ended_total')).toEqual([
      '{store="memory",election="jobs",member="a",reason="resigned",lost="false"} 1',
    ]);
  });

  it('show a waiting member as no leader', async () => {
    const world = begin();
    const other = new Member(world.server.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    await world.clock.run(other.election('jobs').campaign());
    const stop = new AbortController();
    const waiting = world.member
      .election('jobs')
      .campaign({ signal: stop.signal })
      .catch(() => {});
    await world.clock.advance(100);
    expect(world.figures('incumbent_leader')).toEqual(['{store="memory",election="jobs",member="b"} 1', `${ABOUT} 0`]);
    stop.abort();
    await world.clock.run(waiting);
    await world.clock.run(other.close());
  });

  it('show the age and the remaining validity of the lease, and whether a renewal is overdue', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    expect(world.figure('incumbent_session_validity_seconds')).toBeCloseTo(8.8, 1);
    world.store.link.cutOff();
    await world.clock.advance(2_000);
    expect(world.figure('incumbent_session_age_seconds')).toBeCloseTo(2, 1);
    expect(world.figure('incumbent_session_validity_seconds')).toBeCloseTo(6.8, 1);
    expect(world.figure('incumbent_session_suspect')).toBe(0);
    await world.clock.advance(6_000);
    expect(world.figure('incumbent_session_suspect')).toBe(1);
    await world.clock.advance(2_000);
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 0`]);
    expect(world.figures('incumbent_ended_total')).toEqual(['{store="memory",election="jobs",member="a",reason="deadline",lost="true"} 1']);
    expect(world.figures('incumbent_session_ended_total')).toEqual(['{store="memory",member="a",reason="deadline"} 1']);
    await world.clock.advance(10_000);
    expect(world.figure('incumbent_retries_total')).toBeGreaterThan(0);
  });

  it('show a leader whose lease the renewer has kept while the event loop was blocked', async () => {
    const world = begin();
    const clock = new PausableClock(world.clock);
    const kept: Renewal[] = [];
    const lease = { beat: () => {}, renewed: () => {}, latest: () => kept.at(-1), ended: () => {} };
    const renewIn: Renewer = { join: () => ({ renew: () => lease, close: async () => {} }) };
    const member = new Member(world.store, { memberId: 'b', ttlMs: 10_000, clock, renewIn });
    const leadership = await world.clock.run(member.election('jobs').campaign());
    clock.pause();
    await world.clock.advance(9_000);
    kept.push({ ttlMs: 10_000, validFrom: { monotonicMs: clock.monotonic(), wallMs: clock.wall() } });
    expect(leadership.isValid()).toBe(true);
    expect(world.figures('incumbent_leader')).toEqual(['{store="memory",election="jobs",member="b"} 1']);
    expect(world.figure('incumbent_session_validity_seconds')).toBeCloseTo(8.8, 1);
    clock.resume();
    await world.clock.run(member.close());
  });

  it('show no leader as soon as the lease is over, before its end is reported', async () => {
    const world = begin();
    let readAtMs = 0;
    const late = new Monitor({ now: () => world.clock.monotonic() + readAtMs });
    await world.clock.run(world.member.election('jobs').campaign());
    expect(late.health().leads).toHaveLength(1);
    readAtMs = 9_000;
    expect(late.prometheus()).toContain(`incumbent_leader${ABOUT} 0`);
    expect(late.health().leads).toEqual([]);
    late.close();
  });

  it('distinguish leases with the same id on two stores', async () => {
    const world = begin();
    const elsewhere = new MemoryServer({ clock: world.clock });
    const other = new Member(elsewhere.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.run(other.election('jobs').campaign());
    world.store.link.cutOff();
    await world.clock.advance(9_000);
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 0`, '{store="memory",election="jobs",member="b"} 1']);
    await world.clock.run(other.close());
    await elsewhere.close();
  });

  it('distinguish members with the same id on two namespaces of one kind of store', async () => {
    const world = begin();
    const [x, y] = ['x', 'y'].map((namespace) => {
      const store = world.server.connect({ namespace });
      return {
        member: new Member(store, { memberId: 'a', ttlMs: 10_000, clock: world.clock }),
        observer: new ElectionObserver(store, 'jobs', { clock: world.clock }),
      };
    });
    if (x === undefined || y === undefined) throw new Error('never');
    await world.clock.run(x.member.election('jobs').campaign());
    await world.clock.run(Promise.all([x.observer.ready, y.observer.ready]));
    await world.clock.run((await world.clock.run(y.member.election('jobs').campaign())).resign());
    const about = (namespace: string): string => `{store="memory",namespace="${namespace}",election="jobs",member="a"}`;
    expect(world.figures('incumbent_leader')).toEqual([`${about('x')} 1`, `${about('y')} 0`]);
    expect(world.figures('incumbent_session_suspect')).toEqual(
      ['x', 'y'].map((each) => `{store="memory",namespace="${each}",member="a"} 0`),
    );
    expect(world.figures('incumbent_observed_term')).toContain('{store="memory",namespace="x",election="jobs"} 1');
    await world.clock.advance(5_000);
    expect(world.figures('incumbent_session_renewal_seconds_count').join()).toContain('{store="memory",namespace="x",member="a"}');
    expect(world.monitor.health().leads).toEqual([{ store: 'memory', namespace: 'x', election: 'jobs', member: 'a', term: '1' }]);
    await world.clock.run(Promise.all([x, y].flatMap(({ member, observer }) => [member.close(), observer.close()])));
  });

  it('hold a histogram of the durations of renewals', async () => {
    const world = begin();
    world.store.link.delay(20);
    await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(10_000);
    const name = 'incumbent_session_renewal_seconds';
    const about = 'store="memory",member="a"';
    expect(world.figures(`${name}_count`)).toEqual([`{${about}} 3`]);
    expect(world.figure(`${name}_sum`)).toBeCloseTo(0.12, 3);
    expect(world.figures(`${name}_bucket`)).toContain(`{${about},le="0.025"} 0`);
    expect(world.figures(`${name}_bucket`)).toContain(`{${about},le="0.05"} 3`);
    expect(world.figures(`${name}_bucket`).at(-1)).toBe(`{${about},le="+Inf"} 3`);
  });

  it('are empty after the monitor is closed', async () => {
    const world = begin();
    world.monitor.close();
    await world.clock.run(world.member.election('jobs').campaign());
    expect(world.monitor.prometheus()).toBe('');
  });

  it('have the form that Prometheus requires', async () => {
    const world = begin();
    const member = new Member(world.store, { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    await world.clock.run(member.election('a.b_c-d').campaign());
    for (const line of world.monitor.prometheus().trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\} -?[\d.e-]+)$/);
    await world.clock.run(member.close());
  });
});

describe('OpenTelemetry', () => {
  it('has the same figures from its own SDK', async () => {
    const world = begin();
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
    const provider = new MeterProvider({ readers: [reader] });
    world.monitor.instrument(provider.getMeter('incumbent'));
    const leadership = await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(10_000);
    await reader.forceFlush();
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    const points = (name: string): readonly unknown[] => metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    const attributes = { store: 'memory', election: 'jobs', member: 'a' };
    expect(points('incumbent.leader')).toMatchObject([{ attributes, value: 1 }]);
    expect(points('incumbent.term')).toMatchObject([{ attributes, value: Number(leadership.term) }]);
    expect(points('incumbent.session.renewal')).toMatchObject([{ attributes: { member: 'a' }, value: { count: 3 } }]);
    expect(points('incumbent.session.validity')).toHaveLength(1);
    await provider.shutdown();
  });

  it('gets no more values after instrumentation is stopped', async () => {
    const world = begin();
    const told: string[] = [];
    const observable = { addCallback: () => told.push('added'), removeCallback: () => told.push('removed') };
    const meter = {
      createObservableGauge: () => observable,
      createObservableCounter: () => observable,
      createHistogram: () => ({ record: () => told.push('recorded') }),
    };
    const stop = world.monitor.instrument(meter);
    const added = told.length;
    stop();
    expect(told.filter((what) => what === 'removed')).toHaveLength(added);
    await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(10_000);
    expect(told).not.toContain('recorded');
  });
});

describe('health', () => {
  it('is good while nobody leads, and while the leader renews', async () => {
    const world = begin();
    expect(world.monitor.health()).toEqual({ healthy: true, problems: [], leads: [] });
    const { term } = await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(60_000);
    const leads = [{ store: 'memory', election: 'jobs', member: 'a', term: String(term) }];
    expect(world.monitor.health()).toEqual({ healthy: true, problems: [], leads });
    expect(JSON.parse(JSON.stringify(world.monitor.health()))).toEqual(world.monitor.health());
  });

  it('is bad while a renewal is overdue, and good again when the leadership has ended', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    world.store.link.cutOff();
    await world.clock.advance(8_000);
    const [problem] = world.monitor.health().problems;
    expect(problem).toMatchObject({ problem: 'renewalOverdue', election: 'jobs', member: 'a' });
    expect(problem?.forMs).toBeGreaterThan(1_000);
    await world.clock.advance(2_000);
    expect(world.monitor.health()).toEqual({ healthy: true, problems: [], leads: [] });
  });

  it('is good again when renewals succeed again', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    world.store.link.cutOff();
    await world.clock.advance(5_900);
    expect(world.monitor.health().healthy).toBe(false);
    world.store.link.heal();
    await world.clock.advance(2_000);
    expect(world.monitor.health()).toMatchObject({ healthy: true, leads: [{ election: 'jobs' }] });
  });

  it('is bad while work continues after the end of its leadership', async () => {
    const world = begin();
    const work = Promise.withResolvers<void>();
    const leading = world.member
      .election('jobs')
      .lead(() => work.promise)
      .catch(() => {});
    await world.clock.advance(100);
    world.store.link.cutOff();
    await world.clock.advance(12_000);
    expect(world.monitor.health()).toMatchObject({ healthy: false, problems: [{ problem: 'stuck', election: 'jobs' }] });
    work.resolve();
    await world.clock.advance(10);
    expect(world.monitor.health().healthy).toBe(true);
    world.store.link.heal();
    await world.clock.run(world.member.close());
    await world.clock.run(leading);
  });
});
