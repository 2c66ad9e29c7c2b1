/**
 * Metrics for OpenTelemetry. A `Meter` of `@opentelemetry/api` fits; this package does not load it.
 */

import { families, renewals } from './families.ts';
import type { Labels, State } from './state.ts';

interface Result {
  observe(value: number, attributes?: Labels): void;
}

interface Observable {
  addCallback(callback: (result: Result) => void): void;
  removeCallback(callback: (result: Result) => void): void;
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit?: string;
}

/** The part of OpenTelemetry's `Meter` that is used here. */
export interface Meter {
  createObservableGauge(name: string, options: InstrumentOptions): Observable;
  createObservableCounter(name: string, options: InstrumentOptions): Observable;
  createHistogram(
    name: string,
    options: InstrumentOptions & { advice?: { explicitBucketBoundaries?: number[] } },
  ): { record(value: number, attributes?: Labels): void };
}

/** Reports all metrics to the meter. */
export function instrument(
  state: State,
  meter: Meter,
): { readonly renewed: (labels: Labels, seconds: number) => void; readonly stop: () => void } {
  const stops = families.map((family) => {
    const { name, kind, help, unit } = family;
    const options = { description: help, ...(unit === undefined ? {} : { unit }) };
    const observable = kind === 'gauge' ? meter.createObservableGauge(name, options) : meter.createObservableCounter(name, options);
    const report = (result: Result): void => {
      for (const { labels, value } of family.read(state)) result.observe(value, labels);
    };
    observable.addCallback(report);
    return () => observable.removeCallback(report);
  });
  const advice = { explicitBucketBoundaries: [...renewals.bounds] };
  const durations = meter.createHistogram(renewals.name, { description: renewals.help, unit: 's', advice });
  return {
    renewed: (labels, seconds) => durations.record(seconds, labels),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
