export { FailoverTraces, type FailoverTracesOptions } from './traces/failover-traces.ts';
export type { Context, Span, SpanContext, Tracer, TracingApi } from './traces/opentelemetry.ts';
