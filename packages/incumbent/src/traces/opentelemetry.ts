/**
 * The part of `@opentelemetry/api` that the traces use. The caller passes the module, so that this
 * package does not load it.
 */

/** The attributes of a span or an event. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A moment since the epoch: seconds, and nanoseconds within the second. */
export type HrTime = [number, number];

/** OpenTelemetry's `SpanContext`. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** OpenTelemetry's `Context`. */
export interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
  deleteValue(key: symbol): Context;
}

/** The part of OpenTelemetry's `Span` that is used here. */
export interface Span {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes, time: HrTime): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(endTime: HrTime): void;
}

interface SpanOptions {
  readonly startTime: HrTime;
  readonly attributes: Attributes;
  readonly links?: { readonly context: SpanContext; readonly attributes?: Attributes }[];
}

/** The part of OpenTelemetry's `Tracer` that is used here. */
export interface Tracer {
  startSpan(name: string, options: SpanOptions, context: Context): Span;
}

/** The part of the module `@opentelemetry/api` that is used here. */
export interface TracingApi {
  readonly ROOT_CONTEXT: Context;
  readonly trace: {
    getTracer(name: string): Tracer;
    setSpanContext(context: Context, spanContext: SpanContext): Context;
  };
}

/** `SpanStatusCode.ERROR` of OpenTelemetry. */
export const STATUS_ERROR = 2;
