/** Health and metrics of the members and observers of this process, from its events. */

import { checkFunction, checkKnown } from '@incumbent/core/adapter';

import { type Fields, onEvents } from '../events.ts';
import { healthOf, type Health } from './health.ts';
import { Histogram } from './histogram.ts';
import { instrument, type Meter } from './opentelemetry.ts';
import { prometheusText } from './prometheus.ts';
import { countedAs, type Labels, MONITORED, type MonitoredEvent, State } from './state.ts';

/** The options of a {@link Monitor}. All have defaults. */
export interface MonitorOptions {
  /** The monotonic clock, in ms. For tests. */
  readonly now?: (() => number) | undefined;
}

/**
 * Counts events from its construction on: create it before the first member. One that is created
 * later does not know what its members lead already, and says so by a warning of Node
 * (`INCUMBENT_MONITOR_LATE`).
 */
export class Monitor {
  /** The content type of `prometheus()`, for the response's header. */
  readonly contentType: string = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #state: State;
  readonly #durations = new Histogram();
  readonly #meters = new Set<ReturnType<typeof instrument>>();
  readonly #unsubscribe: () => void;
  #hasWarned = false;

  /** @throws {TypeError} `INVALID_OPTION` */
  constructor(options: MonitorOptions = {}) {
    checkKnown('monitor', options, ['now']);
    const { now = () => performance.now() } = options;
    checkFunction('now', now);
    this.#state = new State(now);
    this.#unsubscribe = onEvents(MONITORED, (event, fields) => this.#onEvent(event, fields));
  }

  /** For a liveness probe, which has to be slower than a ttl (docs/operations.md says why). */
  health(): Health {
    return healthOf(this.#state);
  }

  /** All metrics, in the text format of Prometheus. */
  prometheus(): string {
    return prometheusText(this.#state, this.#durations);
  }

  /**
   * Reports the same metrics to a `Meter` of OpenTelemetry, until the monitor is closed or the
   * returned function is called.
   */
  instrument(meter: Meter): () => void {
    const instruments = instrument(this.#state, meter);
    this.#meters.add(instruments);
    return () => {
      instruments.stop();
      this.#meters.delete(instruments);
    };
  }

  /** Unsubscribes from the channels and stops all meters. Idempotent. */
  close(): void {
    this.#unsubscribe();
    for (const { stop } of this.#meters) stop();
    this.#meters.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #onEvent(event: MonitoredEvent, fields: Fields): void {
    if (event === 'sessionRenewed' && !this.#state.hasLease(fields)) this.#warn();
    this.#state.record(event, fields);
    const { tookMs } = fields;
    if (event === 'sessionRenewed' && typeof tookMs === 'number') this.#renewed(countedAs(fields), tookMs / 1_000);
  }

  /** Warns, once, of a lease whose beginning this monitor has not seen. */
  #warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const text =
      'a Monitor was created after a member had started, and may not know what that member leads: create it before the first member';
    process.emitWarning(text, { type: 'IncumbentWarning', code: 'INCUMBENT_MONITOR_LATE' });
  }

  #renewed(labels: Labels, seconds: number): void {
    this.#durations.add(labels, seconds);
    for (const { renewed } of this.#meters) renewed(labels, seconds);
  }
}
