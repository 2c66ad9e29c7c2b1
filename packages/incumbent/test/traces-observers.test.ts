import { ManualClock, MemoryServer } from '@incumbent/memory';
import * as api from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, it } from 'vitest';
import { ElectionObserver, Member } from '../src/index.ts';
import { FailoverTraces } from '../src/traces.ts';

it('an observer has spans also after the store has lost its terms', async () => {
  const clock = new ManualClock();
  const server = new MemoryServer({ clock });
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  using _traces = new FailoverTraces(api, { tracer: provider.getTracer('test'), clock });
  const observer = new ElectionObserver(server.connect(), 'jobs', { clock });
  await clock.run(observer.ready);
  const [a, b] = ['a', 'b'].map((memberId) => new Member(server.connect(), { memberId, ttlMs: 10_000, clock }));
  for (const leader of [a, a, a, a, 'wiped', b, b, b] as const) {
    if (leader === 'wiped') for (const { key } of server.entries()) server.deleteKey(key);
    else if (leader !== undefined) await clock.run((await clock.run(leader.election('jobs').campaign())).resign());
    await clock.advance(20_000);
  }
  await provider.forceFlush();
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'incumbent.observed');
  expect(spans.map(({ attributes }) => attributes['incumbent.term'])).toEqual(['2', '3', '4', '2', '3']);
  await clock.run(Promise.all([observer.close(), a?.close(), b?.close()]));
  await server.close();
});
