export type { Health, Problem } from './monitor/health.ts';
export type { Meter } from './monitor/opentelemetry.ts';
export { Monitor, type MonitorOptions } from './monitor/monitor.ts';
