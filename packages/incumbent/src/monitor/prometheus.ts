/**
 * The text format of Prometheus, version 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

import { families, renewals, type Family } from './families.ts';
import type { Histogram } from './histogram.ts';
import type { Labels, State } from './state.ts';

/** All metrics that have a sample. */
export function prometheusText(state: State, durations: Histogram): string {
  return [...families.map((family) => textOf(family, state)), renewalsOf(durations)].join('');
}

function textOf(family: Family, state: State): string {
  const name = nameOf(family);
  const lines = family.read(state).map(({ labels, value }) => `${name}${labelsOf(labels)} ${value}\n`);
  return lines.length === 0 ? '' : headOf(name, family.help, family.kind) + lines.join('');
}

function renewalsOf(durations: Histogram): string {
  const name = `${renewals.name.replaceAll('.', '_')}_seconds`;
  const lines = durations.all.flatMap(({ labels, buckets, sum, count }) => [
    ...buckets.map((bucket) => `${name}_bucket${labelsOf({ ...labels, le: String(bucket.atMost) })} ${bucket.count}\n`),
    `${name}_bucket${labelsOf({ ...labels, le: '+Inf' })} ${count}\n`,
    `${name}_sum${labelsOf(labels)} ${sum}\n`,
    `${name}_count${labelsOf(labels)} ${count}\n`,
  ]);
  return lines.length === 0 ? '' : headOf(name, renewals.help, 'histogram') + lines.join('');
}

function nameOf({ name, kind, unit }: Family): string {
  return `${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`;
}

function headOf(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function labelsOf(labels: Labels): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`)
    .join(',')}}`;
}
