/**
 * A failover of three processes on a real store, and its trace: the spans that the processes have
 * reported, as a tracing service would have them.
 */

import assert from 'node:assert/strict';
import { spawnScript, startProxy, until, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';

/** What happens to the leader. */
export type Fault = 'kill' | 'handover' | 'partition';

export interface TracedSpan {
  /** The process that has reported the span. */
  readonly process: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  /** In ms since the epoch, as all times here. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  readonly links: readonly string[];
}

export interface TracedFailover {
  readonly spans: readonly TracedSpan[];
  /**
   * From the kill, or else the abort of the leader's work, to the first work of the next leader.
   */
  readonly vacancy: { readonly startMs: number; readonly endMs: number };
}

/** What a failover needs. */
export interface FailoverSetup {
  readonly server: { readonly url: string };
  /** The URL of the store for an address. */
  readonly storeUrl: (endpoint: string) => string;
  readonly ttlMs: number;
  /** How long the leader's work takes to stop. */
  readonly stopMs: number;
}

const MEMBER = new URL('./traced-member.ts', import.meta.url);
const ELECTION = 'controller';
const WAIT_MS = 60_000;

/** Three processes: `a` leads, `b` waits behind it and `c` behind `b`. Then `a` has the fault. */
export async function traceFailover(fault: Fault, { server, storeUrl, ttlMs, stopMs }: FailoverSetup): Promise<TracedFailover> {
  await using proxy = await startProxy(server.url);
  const start = async (name: string, endpoint: string): Promise<ScriptProcess> => {
    const args = [storeUrl(endpoint), name, String(ttlMs), ELECTION, String(stopMs)];
    const script = await spawnScript(MEMBER, { args });
    await script.waitFor('ready', { withinMs: WAIT_MS });
    return script;
  };
  await using a = await start('a', proxy.url);
  await a.waitFor('working', { withinMs: WAIT_MS });
  // The trace of a killed leader needs a renewal before the kill.
  await a.waitFor(isSpan('renewal'), { withinMs: WAIT_MS });
  await using b = await start('b', server.url);
  await b.waitFor(sees('leader'), { withinMs: WAIT_MS });
  await using c = await start('c', server.url);
  await c.waitFor(sees('leader'), { withinMs: WAIT_MS });
  const processes = { a, b, c };

  const startMs = Date.now();
  if (fault === 'kill') a.sigkill();
  if (fault === 'handover') a.sigusr2();
  if (fault === 'partition') proxy.blackhole();
  const endMs = wallOf(await b.waitFor('working', { withinMs: WAIT_MS }));
  const vacancy = { startMs: fault === 'kill' ? startMs : wallOf(await a.waitFor('aborted', { withinMs: WAIT_MS })), endMs };

  const spans = (): readonly TracedSpan[] =>
    Object.entries(processes).flatMap(([process, { events }]) => events.flatMap((event) => spanOf(process, event)));
  const ofTerm = (): readonly TracedSpan[] => spans().filter(({ attributes }) => attributes['incumbent.term.ended'] === '1');
  await until(() => isWhole(fault, ofTerm()), { what: `the trace of a ${fault}`, withinMs: WAIT_MS });
  await proxy.heal();
  for (const script of Object.values(processes)) script.sigterm();
  for (const script of Object.values(processes)) if (script.running) await script.exited;
  const whole = ofTerm();
  checkLink(spans(), whole);
  return { spans: whole, vacancy };
}

/** Whether the last spans of all processes have arrived. */
function isWhole(fault: Fault, spans: readonly TracedSpan[]): boolean {
  const has = (process: string, name: string): boolean => spans.some((span) => span.process === process && span.name === name);
  const isObserved = ['b', 'c'].every((process) => has(process, 'incumbent.observed'));
  return isObserved && has('b', 'incumbent.takeover') && (fault === 'kill' || has('a', 'incumbent.step_down'));
}

/** The end of the next term is linked to its beginning. */
function checkLink(all: readonly TracedSpan[], trace: readonly TracedSpan[]): void {
  const takeover = trace.find(({ name }) => name === 'incumbent.takeover');
  const next = all.find(({ process, name }) => process === 'b' && name === 'incumbent.step_down');
  assert.deepEqual(next?.links, [takeover?.spanId]);
  assert.notEqual(next?.traceId, takeover?.traceId);
}

function isSpan(name: string): (event: ScriptEvent) => boolean {
  return ({ event, fields }) => event === 'span' && fields['name'] === `incumbent.${name}`;
}

function sees(state: string): (event: ScriptEvent) => boolean {
  return ({ event, fields }) => event === 'observed' && fields['state'] === state;
}

function wallOf({ fields }: ScriptEvent): number {
  return Number(fields['wallMs']);
}

function spanOf(process: string, { event, fields }: ScriptEvent): readonly TracedSpan[] {
  if (event !== 'span') return [];
  const text = (name: string): string => String(fields[name]);
  const list = (name: string): readonly string[] => {
    const value = fields[name];
    return Array.isArray(value) ? value.map(String) : [];
  };
  const attributes = fields['attributes'];
  return [
    {
      ...{ process, name: text('name'), traceId: text('traceId'), spanId: text('spanId'), parentId: text('parentId') },
      ...{ startMs: Number(fields['startMs']), endMs: Number(fields['endMs']), events: list('events'), links: list('links') },
      attributes: typeof attributes === 'object' && attributes !== null ? { ...attributes } : {},
    },
  ];
}

/**
 * Asserts the trace span by span: the process, the name and the parent of each, in the order of
 * each process. Renewals, of which there may be any number, count once.
 */
export function checkTrace(fault: Fault, spans: readonly TracedSpan[]): void {
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1, 'all spans are in one trace');
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  const roots = new Set(spans.filter(({ parentId }) => !names.has(parentId)).map(({ parentId }) => parentId));
  assert.equal(roots.size, 1, 'all spans of no other parent have the same one');
  const lines = spans.map(({ process, name, parentId }) => [process, names.get(parentId), name].filter(Boolean).join(' '));
  assert.deepEqual([...new Set(lines)].map(short).toSorted(), EXPECTED[fault].toSorted());
  for (const [name, attributes] of Object.entries(ATTRIBUTES[fault]))
    for (const span of spans.filter((candidate) => short(candidate.name) === name))
      for (const [key, value] of Object.entries({ store: 'etcd', election: ELECTION, 'term.ended': '1', ...attributes }))
        assert.equal(span.attributes[`incumbent.${key}`], value, `${span.process} ${name}: ${key}`);
  if (fault === 'partition') assert.deepEqual(spans.find(({ name }) => name === 'incumbent.unrenewed')?.events, ['suspect']);
  checkOrder(spans);
}

function short(name: string): string {
  return name.replaceAll('incumbent.', '');
}

/**
 * The spans of one parent, other than renewals and observations, follow each other without gaps.
 */
function checkOrder(spans: readonly TracedSpan[]): void {
  for (const parent of ['incumbent.step_down', 'incumbent.takeover']) {
    const { spanId, startMs, endMs } = spans.find(({ name }) => name === parent) ?? { spanId: '', startMs: 0, endMs: 0 };
    let at = startMs;
    for (const child of spans
      .filter(({ parentId }) => parentId === spanId)
      .toSorted((x, y) => x.startMs - y.startMs || x.endMs - y.endMs)) {
      if (child.name === 'incumbent.unrenewed') at = child.startMs;
      assert.ok(Math.abs(child.startMs - at) < 1e-3, `${child.name} starts where the one before has ended`);
      at = child.endMs;
    }
    if (spanId !== '') assert.ok(Math.abs(at - endMs) < 1e-3, `${parent} ends with its last child`);
  }
}

const STEP_DOWN = ['a step_down', 'a step_down abort', 'a step_down drain', 'a step_down release'];
const OBSERVED = ['b observed', 'c observed'];
const TAKEOVER = ['b takeover', 'b takeover notification', 'b takeover elected', 'b takeover first_work'];
const AFTER_EXPIRY = ['b lease.expiry', ...TAKEOVER, 'b takeover claim', ...OBSERVED];

const EXPECTED: Readonly<Record<Fault, readonly string[]>> = {
  kill: ['a renewal', ...AFTER_EXPIRY],
  handover: ['a renewal', ...STEP_DOWN, ...TAKEOVER, 'a observed', ...OBSERVED],
  partition: ['a renewal', ...STEP_DOWN, 'a step_down unrenewed', ...AFTER_EXPIRY],
};

type Expected = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const afterExpiry: Expected = {
  renewal: { member: 'a' },
  'lease.expiry': { member: 'b', inferred: true },
  takeover: { member: 'b', term: '2', reason: 'expired' },
  notification: { member: 'b', why: 'aheadGone' },
  claim: { member: 'b', term: '2', outcome: 'elected' },
  elected: { member: 'b' },
  first_work: { member: 'b' },
  observed: { term: '2', reason: 'expired' },
};

const ATTRIBUTES: Readonly<Record<Fault, Expected>> = {
  kill: afterExpiry,
  handover: {
    step_down: { member: 'a', reason: 'handover', lost: false },
    drain: { member: 'a', 'drain.stopped': true },
    takeover: { member: 'b', term: '2', reason: 'handover' },
    observed: { term: '2', reason: 'handover' },
  },
  partition: {
    ...afterExpiry,
    step_down: { member: 'a', reason: 'deadline', lost: true },
    drain: { member: 'a', 'drain.stopped': true },
  },
};

/** Spans that say what a process waited for. The others enclose them, or observe. */
const LEAVES: ReadonlySet<string> = new Set(
  [
    'unrenewed',
    'abort',
    'drain',
    'release',
    'lease.expiry',
    'claim_timeout',
    'notification',
    'claim',
    'retry',
    'elected',
    'first_work',
  ].map((name) => `incumbent.${name}`),
);

/** The part of the vacancy that lies within spans, from 0 to 1. `without`: names to leave out. */
export function explained({ spans, vacancy }: TracedFailover, without: readonly string[] = []): number {
  const { startMs, endMs } = vacancy;
  const parts = spans
    .filter(({ name }) => LEAVES.has(name) && !without.includes(name))
    .map((span) => [Math.max(span.startMs, startMs), Math.min(span.endMs, endMs)] as const)
    .filter(([from, to]) => to > from)
    .toSorted(([x], [y]) => x - y);
  let [covered, until_] = [0, startMs];
  for (const [from, to] of parts) {
    covered += Math.max(0, to - Math.max(from, until_));
    until_ = Math.max(until_, to);
  }
  return endMs > startMs ? covered / (endMs - startMs) : 1;
}
