import { ManualClock, MemoryServer, type MemoryStore } from '@incumbent/memory';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { afterEach, describe, expect, it } from 'vitest';
import { PausableClock } from '@incumbent/core/testing';
import { ElectionObserver, Member, type Renewal, type Renewer, withLock } from '../src/index.ts';
import { Monitor } from '../src/monitor.ts';

/** One process with one member, whose clock the test moves. */
class Scene {
  readonly clock = new ManualClock();
  readonly server = new MemoryServer({ clock: this.clock });
  readonly monitor = new Monitor({ now: () => this.clock.monotonic() });
  readonly store: MemoryStore = this.server.connect();
  readonly member = new Member(this.store, { memberId: 'a', ttlMs: 10_000, clock: this.clock });

  /** The lines of one name, without it. */
  figures(name: string): readonly string[] {
    const lines = this.monitor.prometheus().split('\n');
    return lines.flatMap((line) => (line.startsWith(`${name}{`) ? [line.slice(name.length)] : []));
  }

  /** The only figure of its name. */
  figure(name: string): number {
    const lines = this.figures(name);
    if (lines.length !== 1) throw new Error(`${lines.length} figures of ${name}`);
    return Number(lines[0]?.split('} ')[1]);
  }

  async end(): Promise<void> {
    this.store.link.heal();
    await this.clock.run(this.member.close());
    await this.server.close();
    this.monitor.close();
  }
}

let scene: Scene | undefined;
afterEach(async () => {
  await scene?.end();
  scene = undefined;
});

function begin(): Scene {
  scene = new Scene();
  return scene;
}

const ABOUT = '{store="memory",election="jobs",member="a"}';

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
    let latest: Renewal | undefined;
    const lease = { beat: () => {}, renewed: () => {}, latest: () => latest, ended: () => {} };
    const renewIn: Renewer = { join: () => ({ renew: () => lease, close: async () => {} }) };
    const member = new Member(world.store, { memberId: 'b', ttlMs: 10_000, clock, renewIn });
    const leadership = await world.clock.run(member.election('jobs').campaign());
    clock.pause();
    await world.clock.advance(9_000);
    latest = { ttlMs: 10_000, validFrom: { monotonicMs: clock.monotonic(), wallMs: clock.wall() } };
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

  it('show what an observer sees, and how long nobody has led', async () => {
    const world = begin();
    const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(observer.ready);
    await world.clock.advance(3_000);
    const about = 'store="memory",election="jobs"';
    expect(world.figures('incumbent_observed')).toContain(`{${about},state="vacant"} 1`);
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    const leadership = await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(1_000);
    expect(world.figures('incumbent_observed')).toEqual([
      `{${about},state="leader"} 1`,
      `{${about},state="vacant"} 0`,
      `{${about},state="unknown"} 0`,
    ]);
    expect(world.figure('incumbent_observed_term')).toBe(Number(leadership.term));
    expect(world.figure('incumbent_vacancy_seconds')).toBe(0);
    expect(world.figure('incumbent_vacant_seconds_total')).toBeCloseTo(3, 1);
    await world.clock.run(observer.close());
    expect(world.figures('incumbent_observed')).toEqual([]);
  });

  it('count the changes of the leader by reason, once for all observers, without the first leader that they see', async () => {
    const world = begin();
    const observe = async (): Promise<ElectionObserver> => {
      const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
      await world.clock.run(observer.ready);
      return observer;
    };
    const election = world.member.election('jobs');
    const first = await world.clock.run(election.campaign());
    await world.clock.run(first.resign());
    const second = await world.clock.run(election.campaign());
    const observers = [await observe(), await observe()];
    expect(world.figures('incumbent_observed_changes_total')).toEqual([]);
    await world.clock.run(second.publish('moved'));
    const other = new Member(world.server.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    const next = other.election('jobs').campaign();
    await world.clock.advance(100);
    await world.clock.run(second.handover('b'));
    const third = await world.clock.run(next);
    await world.clock.advance(100);
    await world.clock.run(third.resign());
    await world.clock.run(election.campaign());
    await world.clock.advance(100);
    expect(world.figures('incumbent_observed_changes_total')).toEqual([
      '{store="memory",election="jobs",reason="handover"} 1',
      '{store="memory",election="jobs",reason="resigned"} 1',
    ]);
    for (const observer of observers) await world.clock.run(observer.close());
    await world.clock.run(other.close());
  });

  it('stay as they are when another observer of the election begins or closes', async () => {
    const world = begin();
    const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(observer.ready);
    await world.clock.advance(3_000);
    const other = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(other.ready);
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    await world.clock.run(other.close());
    expect(world.figures('incumbent_observed')).toContain('{store="memory",election="jobs",state="vacant"} 1');
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    await world.clock.run(observer.close());
    expect(world.figures('incumbent_observed')).toEqual([]);
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

describe('the metrics of a member that closes', () => {
  /** The names of the gauges of elections and leases. */
  const gauges = ['incumbent_leader', 'incumbent_stuck', 'incumbent_session_age_seconds'];

  it('keep their counters, and lose their gauges', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.run(world.member.close());
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_elected_total')).toEqual([`${ABOUT} 1`]);
  });

  it('lose their gauges also if it closes while it has no lease', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    world.store.link.cutOff();
    await world.clock.advance(20_000);
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 0`]);
    await world.clock.run(world.member.close());
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
  });

  it('show its work that continues until it stops', async () => {
    const world = begin();
    const work = Promise.withResolvers<void>();
    const leading = world.member
      .election('jobs')
      .lead(() => work.promise)
      .catch(() => {});
    await world.clock.advance(100);
    await world.clock.run(world.member.close());
    expect(world.figures('incumbent_stuck')).toEqual([`${ABOUT} 1`]);
    expect(world.monitor.health()).toMatchObject({ healthy: false, problems: [{ problem: 'stuck', election: 'jobs' }] });
    work.resolve();
    await world.clock.run(leading);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.monitor.health().healthy).toBe(true);
  });

  it('count the locks of withLock as one member, however many there are', async () => {
    const world = begin();
    const sizes: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const work = (): Promise<void> => new Promise((resolve) => void world.clock.schedule(10_000, resolve));
      const locked = withLock(world.store, 'report', work, { clock: world.clock });
      await world.clock.advance(5_000);
      expect(world.figures('incumbent_leader')).toEqual([expect.stringMatching(/election="report",member="[^"]{12}"\} 1$/)]);
      await world.clock.run(locked);
      sizes.push(world.monitor.prometheus().split('\n').length);
    }
    expect(new Set(sizes).size).toBe(1);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_elected_total')).toEqual(['{store="memory",election="report",member="lock"} 3']);
    expect(world.figures('incumbent_session_ended_total')).toEqual(['{store="memory",member="lock",reason="memberClosed"} 3']);
    expect(world.figures('incumbent_session_renewal_seconds_count')).toEqual([
      expect.stringMatching(/^\{store="memory",member="lock"\} \d+$/),
    ]);
  });

  it('leave nothing of a lock that was lost', async () => {
    const world = begin();
    const work = Promise.withResolvers<void>();
    const locked = withLock(world.store, 'report', () => work.promise, { clock: world.clock }).catch(() => {});
    await world.clock.advance(100);
    world.store.link.cutOff();
    await world.clock.advance(20_000);
    expect(world.monitor.health().problems).toMatchObject([{ problem: 'stuck', election: 'report' }]);
    work.resolve();
    await world.clock.run(locked);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_ended_total')).toEqual([
      '{store="memory",election="report",member="lock",reason="deadline",lost="true"} 1',
    ]);
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
