/**
 * A member and an observer in a process of their own, whose failovers are traced. Every span is
 * reported soon after it has ended. Started by `traced-failover.ts`.
 */

import * as api from '@opentelemetry/api';
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import { ElectionObserver, Member, openStore, type Leadership } from 'incumbent';
import { FailoverTraces } from 'incumbent/traces';
import { emit } from '@incumbent/test-support/child';

const [url = 'memory:', memberId = 'm', ttlMs = '5000', election = 'controller', stopMs = '20'] = process.argv.slice(2);

const provider = new TracerProvider({
  // Not at once: writing would delay the work whose start is measured.
  spanProcessors: [
    {
      onStart: () => {},
      onEnd: (span) => setImmediate(() => tell(span)),
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    },
  ],
});
api.trace.setGlobalTracerProvider(provider);
const traces = new FailoverTraces(api, { renewals: true });

const store = await openStore(url);
const member = new Member(store, { memberId, ttlMs: Number(ttlMs) });
const observer = new ElectionObserver(store, election);
observer.subscribe(({ state }) => emit('observed', { state }));

let leading: Leadership | undefined;
let stopping: Promise<void> | undefined;
process.on('SIGTERM', () => void (stopping ??= stop()));
process.on('SIGUSR2', () => void leading?.handover());
emit('ready');
await member.election(election).lead(work);

async function work(leadership: Leadership): Promise<void> {
  emit('working', { term: leadership.term, wallMs: Date.now() });
  leading = leadership;
  leadership.signal.addEventListener('abort', () => emit('aborted', { term: leadership.term, wallMs: Date.now() }));
  const stopped = leadership.ended.then(() => new Promise((resolve) => setTimeout(resolve, Number(stopMs))));
  leadership.waitUntil(stopped);
  await stopped;
}

function tell(span: ReadableSpan): void {
  const { traceId, spanId } = span.spanContext();
  emit('span', {
    name: span.name,
    ...{ traceId, spanId, parentId: span.parentSpanContext?.spanId ?? '' },
    ...{ startMs: ms(span.startTime), endMs: ms(span.endTime) },
    attributes: span.attributes,
    events: span.events.map(({ name }) => name),
    links: span.links.map(({ context }) => context.spanId),
  });
}

function ms([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1e6;
}

async function stop(): Promise<void> {
  await member.close();
  await observer.close();
  await store.close();
  traces.close();
  emit('closed');
  process.removeAllListeners('SIGTERM');
}
