import { ManualClock, MemoryServer, type MemoryServerOptions, type MemoryStore } from '@incumbent/memory';
import * as api from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, it } from 'vitest';
import { ElectionObserver, type Leadership, Member } from '../src/index.ts';
import { FailoverTraces, type FailoverTracesOptions } from '../src/traces.ts';

const JOBS = 'jobs';
const TTL_MS = 10_000;

/** Members on a manual clock, whose failovers are traced. */
class Scene {
  readonly clock = new ManualClock();
  readonly server: MemoryServer;
  readonly exporter = new InMemorySpanExporter();
  readonly #provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: this.exporter })] });
  readonly traces: FailoverTraces;
  readonly #members: Member[] = [];
  readonly #stores: MemoryStore[] = [];

  constructor(options: FailoverTracesOptions = {}, server: Omit<MemoryServerOptions, 'clock'> = {}) {
    this.server = new MemoryServer({ ...server, clock: this.clock });
    this.traces = new FailoverTraces(api, { tracer: this.#provider.getTracer('test'), clock: this.clock, ...options });
  }

  connect(): MemoryStore {
    const store = this.server.connect();
    this.#stores.push(store);
    return store;
  }

  member(memberId: string, store: MemoryStore = this.connect()): Member {
    const member = new Member(store, { memberId, ttlMs: TTL_MS, clock: this.clock });
    this.#members.push(member);
    return member;
  }

  /** Leads with work that takes this long to stop. */
  leads(member: Member, stopMs = 0): void {
    const work = async (leadership: Leadership): Promise<void> => {
      await leadership.ended;
      if (stopMs > 0) await new Promise<void>((resolve) => void this.clock.schedule(stopMs, resolve));
    };
    member
      .election(JOBS)
      .lead(work)
      .catch(() => {});
  }

  async pass(forMs: number): Promise<void> {
    await this.clock.advance(forMs);
  }

  /** The spans that have ended, in the order of their starts. */
  async spans(): Promise<readonly ReadableSpan[]> {
    await this.#provider.forceFlush();
    return this.exporter.getFinishedSpans().toSorted((a, b) => ms(a.startTime) - ms(b.startTime));
  }

  async end(): Promise<void> {
    for (const store of this.#stores) store.link.heal();
    for (const member of this.#members) await this.clock.run(member.close());
    await this.server.close();
    this.traces.close();
  }
}

let scene: Scene | undefined;
afterEach(async () => {
  await scene?.end();
  scene = undefined;
});

function begin(options?: FailoverTracesOptions, server?: Omit<MemoryServerOptions, 'clock'>): Scene {
  scene = new Scene(options, server);
  return scene;
}

function ms([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1e6;
}

/** Spans as lines: each below its parent, with its duration in ms, those of one member together. */
function tree(spans: readonly ReadableSpan[]): readonly string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, indent: string): string[] =>
    spans
      .filter(({ parentSpanContext }) =>
        parent === undefined ? !ids.has(parentSpanContext?.spanId ?? '') : parentSpanContext?.spanId === parent,
      )
      .toSorted((a, b) => byName(memberOf(a), memberOf(b)))
      .flatMap((span) => [
        `${indent}${memberOf(span)} ${span.name.replace('incumbent.', '')} ${Math.round(ms(span.duration))}`,
        ...below(span.spanContext().spanId, `${indent}  `),
      ]);
  return below(undefined, '');
}

function memberOf({ attributes }: ReadableSpan): string {
  const member = attributes['incumbent.member'];
  return typeof member === 'string' ? member : 'observer';
}

function byName(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function only(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.filter((span) => span.name === `incumbent.${name}`);
  const [span] = found;
  if (span === undefined || found.length > 1) throw new Error(`${found.length} spans incumbent.${name}`);
  return span;
}

describe('the trace of a failover', () => {
  it('shows a resignation from the abort to the first work of the next leader', async () => {
    const world = begin();
    const first = await world.clock.run(world.member('a').election(JOBS).campaign());
    world.leads(world.member('b'));
    await world.pass(100);
    let stop = (): void => {};
    first.waitUntil(new Promise<void>((resolve) => (stop = resolve)));
    const resigned = first.resign();
    await world.pass(300);
    stop();
    await world.clock.run(resigned);
    await world.pass(100);
    const spans = await world.spans();
    expect(tree(spans)).toEqual([
      'a step_down 300',
      '  a abort 0',
      '  a drain 300',
      '  a release 0',
      'b takeover 0',
      '  b notification 0',
      '  b claim 0',
      '  b elected 0',
      '  b first_work 0',
    ]);
    expect(only(spans, 'step_down').attributes).toMatchObject({
      'incumbent.store': 'memory',
      'incumbent.election': JOBS,
      'incumbent.member': 'a',
      'incumbent.term.ended': '1',
      'incumbent.reason': 'resigned',
      'incumbent.lost': false,
    });
    expect(only(spans, 'drain').attributes).toMatchObject({ 'incumbent.drain.stopped': true, 'incumbent.drain.allowed_ms': 1_000 });
    expect(only(spans, 'takeover').attributes).toMatchObject({
      'incumbent.member': 'b',
      'incumbent.term.ended': '1',
      'incumbent.term': '2',
      'incumbent.reason': 'resigned',
    });
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('shows a leader that is cut off, and explains the wait for the end of its lease', async () => {
    const world = begin();
    const store = world.connect();
    world.leads(world.member('a', store), 500);
    await world.pass(100);
    world.leads(world.member('b'));
    const observer = new ElectionObserver(world.connect(), JOBS, { clock: world.clock });
    const stop = observer.subscribe(() => {});
    await world.pass(5_000);
    store.link.cutOff();
    await world.pass(15_000);
    const spans = await world.spans();
    const takeover = spans.filter((span) => span.attributes['incumbent.term.ended'] === '1');
    const lines = tree(takeover).map((line) => line.replace(/ \d+$/, ''));
    expect(lines).toEqual([
      'a step_down',
      '  a renewal',
      '  a unrenewed',
      '  a abort',
      '  a drain',
      '  a release',
      'b lease.expiry',
      'b takeover',
      '  b notification',
      '  b claim',
      '  b elected',
      '  b first_work',
      'observer observed',
    ]);
    expect(new Set(takeover.map((span) => span.spanContext().traceId)).size).toBe(1);
    const [stepDown, unrenewed] = [only(takeover, 'step_down'), only(takeover, 'unrenewed')];
    expect(stepDown.status.code).toBe(api.SpanStatusCode.ERROR);
    expect(stepDown.attributes).toMatchObject({ 'incumbent.reason': 'deadline', 'incumbent.lost': true });
    expect(unrenewed.events.map(({ name, attributes }) => [name, attributes])).toEqual([['suspect', { 'incumbent.error': 'TIMEOUT' }]]);
    expect(ms(only(takeover, 'drain').duration)).toBeCloseTo(500, 3);
    // No time between the last renewal and the first work is without a span.
    const expiry = only(takeover, 'lease.expiry');
    expect(expiry.attributes).toMatchObject({ 'incumbent.inferred': true });
    expect(ms(expiry.endTime)).toBe(ms(only(takeover, 'notification').startTime));
    expect(ms(expiry.startTime)).toBeLessThan(ms(only(takeover, 'abort').startTime));
    expect(only(takeover, 'claim').attributes).toMatchObject({ 'incumbent.outcome': 'elected', 'incumbent.term': '2' });
    expect(only(takeover, 'observed').attributes).toMatchObject({ 'incumbent.reason': 'expired', 'incumbent.term': '2' });
    stop();
    await world.clock.run(observer.close());
  });

  it('shows a handover, in which the successor claims nothing', async () => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    world.leads(world.member('b'));
    await world.pass(100);
    await world.clock.run(a.handover('b'));
    await world.pass(100);
    const spans = await world.spans();
    expect(tree(spans)).toEqual([
      'a step_down 0',
      '  a abort 0',
      '  a drain 0',
      '  a release 0',
      'b takeover 0',
      '  b notification 0',
      '  b elected 0',
      '  b first_work 0',
    ]);
    expect(only(spans, 'notification').attributes).toMatchObject({ 'incumbent.why': 'handedOver' });
    expect(only(spans, 'takeover').attributes).toMatchObject({ 'incumbent.reason': 'handover' });
  });

  it('shows a handover in two steps with the claim of the successor', async () => {
    const world = begin({}, { assignableLease: false });
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    world.leads(world.member('b'));
    await world.pass(100);
    await world.clock.run(a.handover('b'));
    await world.pass(100);
    const spans = await world.spans();
    expect(tree(spans).filter((line) => line.includes('b '))).toEqual([
      'b takeover 0',
      '  b notification 0',
      '  b claim 0',
      '  b elected 0',
      '  b first_work 0',
    ]);
  });

  it('explains the wait for a candidate that never claims', async () => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    const hung = world.connect();
    world.leads(world.member('b', hung));
    await world.pass(100);
    world.leads(world.member('c'));
    await world.pass(100);
    hung.link.stallWatches();
    await world.clock.run(a.resign());
    await world.pass(40_000);
    const spans = (await world.spans()).filter((span) => span.attributes['incumbent.term.ended'] === '1');
    expect(tree(spans)).toEqual([
      'a step_down 0',
      '  a abort 0',
      '  a drain 0',
      '  a release 0',
      'c takeover 15000',
      '  c claim_timeout 15000',
      '  c notification 0',
      '  c claim 0',
      '  c elected 0',
      '  c first_work 0',
    ]);
  });

  it('is linked to the failover in which the leader that steps down was elected', async () => {
    const world = begin();
    const first = await world.clock.run(world.member('a').election(JOBS).campaign());
    const waiting = world.member('b').election(JOBS).campaign();
    await world.pass(100);
    await world.clock.run(first.resign());
    const second = await world.clock.run(waiting);
    await world.clock.run(second.resign());
    const spans = await world.spans();
    const takeover = only(spans, 'takeover');
    const stepDown = spans.find((span) => span.name === 'incumbent.step_down' && span.attributes['incumbent.member'] === 'b');
    expect(stepDown?.links.map(({ context }) => context.spanId)).toEqual([takeover.spanContext().spanId]);
    expect(stepDown?.spanContext().traceId).not.toBe(takeover.spanContext().traceId);
  });

  it('shows work that did not stop within the drain as an error', async () => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    a.waitUntil(new Promise((resolve) => void world.clock.schedule(5_000, () => resolve(undefined))));
    await world.clock.run(a.resign());
    const drain = only(await world.spans(), 'drain');
    expect(drain.status.code).toBe(api.SpanStatusCode.ERROR);
    expect(drain.attributes).toMatchObject({ 'incumbent.drain.stopped': false });
  });

  it('has a span of each renewal only if that is wanted', async () => {
    const world = begin({ renewals: true });
    const leadership = await world.clock.run(world.member('a').election(JOBS).campaign());
    await world.pass(7_000);
    const spans = await world.spans();
    expect(spans.map(({ name }) => name)).toEqual(['incumbent.renewal', 'incumbent.renewal']);
    await world.clock.run(leadership.resign());
  });

  it('has the span of an observer although another one of the election has closed', async () => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    const observers = [1, 2].map(() => new ElectionObserver(world.connect(), JOBS, { clock: world.clock }));
    for (const observer of observers) await world.clock.run(observer.ready);
    await world.clock.run(observers[1]!.close());
    await world.clock.run(a.resign());
    await world.clock.run(world.member('b').election(JOBS).campaign());
    await world.pass(100);
    expect((await world.spans()).filter(({ name }) => name === 'incumbent.observed')).toHaveLength(1);
    await world.clock.run(observers[0]!.close());
  });

  it.each(['closes', 'gives up'])('has the span of a candidate that %s after a claim whose outcome is unknown', async (how) => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    const store = world.connect();
    const member = world.member('b', store);
    const stop = new AbortController();
    void member
      .election(JOBS)
      .lead(() => {}, { signal: stop.signal })
      .catch(() => {});
    await world.pass(100);
    store.link.dropReplies(1, { operations: ['compareAndSwap'] });
    await world.clock.run(a.resign());
    store.link.cutOff();
    await world.pass(3_000);
    if (how === 'closes') await world.clock.run(member.close());
    else stop.abort();
    await world.pass(20_000);
    expect(only(await world.spans(), 'takeover').attributes).toMatchObject({ 'incumbent.member': 'b', 'incumbent.given_up': true });
  });

  it('does not begin with the first term of an election', async () => {
    const world = begin();
    await world.clock.run(world.member('a').election(JOBS).campaign());
    expect(await world.spans()).toEqual([]);
  });

  it('keeps the lengths of its spans when the wall clock is set', async () => {
    const world = begin();
    const a = await world.clock.run(world.member('a').election(JOBS).campaign());
    a.waitUntil(new Promise((resolve) => void world.clock.schedule(300, () => resolve(undefined))));
    const resigned = a.resign();
    await world.pass(100);
    world.clock.setWall(world.clock.wall() - 3_600_000);
    await world.clock.run(resigned);
    expect(ms(only(await world.spans(), 'drain').duration)).toBeCloseTo(300, 3);
  });
});

describe('the id of a trace', () => {
  const idOf = async (options: FailoverTracesOptions = {}, election = JOBS): Promise<string> => {
    const world = new Scene(options);
    const leadership = await world.clock.run(world.member('a').election(election).campaign());
    await world.clock.run(leadership.resign());
    const id = only(await world.spans(), 'step_down').spanContext().traceId;
    await world.end();
    return id;
  };

  it('is the same in every process, and differs by election and scope', async () => {
    const ids = [await idOf(), await idOf({}, 'other'), await idOf({ scope: 'eu-west' })];
    expect(await idOf()).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('the traces', () => {
  it('end with close: no channel has a subscriber any more', async () => {
    const world = begin();
    world.traces.close();
    world.traces.close();
    const leadership = await world.clock.run(world.member('a').election(JOBS).campaign());
    await world.clock.run(leadership.resign());
    expect(await world.spans()).toEqual([]);
  });

  it('use the tracer of the process by default, which does nothing without a provider', async () => {
    const world = begin();
    using _traces = new FailoverTraces(api);
    const leadership = await world.clock.run(world.member('a').election(JOBS).campaign());
    await world.clock.run(leadership.resign());
    expect((await world.spans()).filter(({ name }) => name === 'incumbent.step_down')).toHaveLength(1);
  });

  it.each([
    ['api', () => Reflect.construct(FailoverTraces, [{}])],
    ['scope', () => Reflect.construct(FailoverTraces, [api, { scope: 1 }])],
    ['renewals', () => Reflect.construct(FailoverTraces, [api, { renewals: 'yes' }])],
    ['tracer', () => Reflect.construct(FailoverTraces, [api, { tracer: {} }])],
    ['scpe', () => Reflect.construct(FailoverTraces, [api, { scpe: 'a' }])],
  ] as const)('refuse a wrong %s', (option, construct) => {
    expect(construct).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(option) }));
  });
});
