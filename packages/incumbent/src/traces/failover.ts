/**
 * The trace of one failover. Its id is a hash of what the processes know without communication: the
 * election and the term that has ended. So the spans of the former leader, the next leader and the
 * observers are in one trace (docs/decisions/0064-failover-traces.md).
 */

import { createHash } from 'node:crypto';
import type { Attributes, Context, HrTime, Span, SpanContext, Tracer, TracingApi } from './opentelemetry.ts';
import { Timeline, type TraceClock } from './timeline.ts';

/** What identifies an election, for all its processes alike. */
export interface TracedElection {
  readonly scope: string;
  readonly store: string;
  readonly namespace: string;
  readonly election: string;
}

/** OpenTelemetry's flag `sampled`. */
const SAMPLED = 1;

/**
 * The parent of all spans of a failover. No process creates a span with this id: OpenTelemetry lets
 * nobody choose the id of a span.
 */
function failoverParent({ scope, store, namespace, election }: TracedElection, endedTerm: bigint): SpanContext {
  const name = JSON.stringify(['incumbent.failover', scope, store, namespace, election, String(endedTerm)]);
  const hash = createHash('sha256').update(name).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48), traceFlags: SAMPLED, isRemote: true };
}

/** What the parts of the traces share. */
export interface TraceContext {
  readonly api: TracingApi;
  readonly tracer: Tracer;
  readonly clock: TraceClock;
}

/**
 * A span of this process, in the trace of one failover. Times are on the monotonic clock, in ms.
 */
export class FailoverSpan {
  readonly timeline: Timeline;
  readonly #context: TraceContext;
  readonly #attributes: Attributes;
  readonly #parent: Context;
  readonly #span: Span;

  private constructor(context: TraceContext, timeline: Timeline, parent: Context, span: Span, attributes: Attributes) {
    this.#context = context;
    this.timeline = timeline;
    this.#parent = parent;
    this.#span = span;
    this.#attributes = attributes;
  }

  /**
   * Starts a span without a parent in this process. `attributes` are those of its children, too.
   */
  static start(
    context: TraceContext,
    about: { readonly election: TracedElection; readonly endedTerm: bigint; readonly attributes: Attributes },
    name: string,
    startMs: number,
    link?: SpanContext,
  ): FailoverSpan {
    const { api, tracer, clock } = context;
    const { store, namespace, election } = about.election;
    const attributes = {
      'incumbent.store': store,
      'incumbent.namespace': namespace,
      'incumbent.election': election,
      'incumbent.term.ended': String(about.endedTerm),
      ...about.attributes,
    };
    const timeline = new Timeline(clock);
    const parent = api.trace.setSpanContext(api.ROOT_CONTEXT, failoverParent(about.election, about.endedTerm));
    const links = link === undefined ? {} : { links: [{ context: link }] };
    const span = tracer.startSpan(name, { startTime: timeline.at(startMs), attributes, ...links }, parent);
    return new FailoverSpan(context, timeline, parent, span, attributes);
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  /** Starts a child of this span. */
  child(name: string, startMs: number, attributes: Attributes = {}): Span {
    const { api, tracer } = this.#context;
    const context = api.trace.setSpanContext(api.ROOT_CONTEXT, this.spanContext);
    return tracer.startSpan(name, { startTime: this.timeline.at(startMs), attributes: { ...this.#attributes, ...attributes } }, context);
  }

  /** Adds a child of this span that has ended. */
  ended(name: string, startMs: number, endMs: number, attributes: Attributes = {}): Span {
    const span = this.child(name, startMs, attributes);
    span.end(this.at(endMs));
    return span;
  }

  /** Adds a span beside this one: another child of the same parent. */
  beside(name: string, startMs: number, endMs: number, attributes: Attributes = {}): void {
    const startTime = this.at(startMs);
    const span = this.#context.tracer.startSpan(name, { startTime, attributes: { ...this.#attributes, ...attributes } }, this.#parent);
    span.end(this.at(endMs));
  }

  at(monotonicMs: number): HrTime {
    return this.timeline.at(monotonicMs);
  }

  setAttributes(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  setStatus(code: number, message: string): void {
    this.#span.setStatus({ code, message });
  }

  end(endMs: number): void {
    this.#span.end(this.at(endMs));
  }
}
