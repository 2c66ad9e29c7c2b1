/** A run in a few lines for the terminal. */

import { headerOf, only, type ChaosEvent } from './history.ts';
import type { Verdict } from './check/verdict.ts';
import { spansOf } from './check/rule.ts';

/** More violations than this would say nothing new. */
const SHOWN = 15;

export function tableOf(history: readonly ChaosEvent[], { figures, violations, missing }: Verdict): readonly string[] {
  const { store, version, seed, ttlMs, endsEarly } = headerOf(history);
  const rows: readonly (readonly [string, string])[] = [
    ['store', `${store} ${version}, ttl ${ttlMs} ms, seed ${seed}`],
    ...Object.entries(figures).map(([name, figure]) => [name, String(Math.round(figure * 10) / 10)] as const),
    ['ended by', counted(only(history, 'ended').map(({ reason }) => reason))],
    ['hit by', counted(only(history, 'fault').flatMap(({ fault, what }) => (what === 'hit' ? [fault] : [])))],
    ...(endsEarly === undefined ? [] : [['excused', endsEarly] as const]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`),
    ...missing.map((what) => `  MISSING ${what}`),
    ...violations
      .slice(0, SHOWN)
      .map(({ promise, at, what }) => `  BROKEN at ${(at / 1_000).toFixed(3)} s: ${promise}: ${what}${around(history, at)}`),
    ...(violations.length > SHOWN ? [`  BROKEN besides: ${violations.length - SHOWN} more`] : []),
  ];
}

function counted(names: readonly string[]): string {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length] as const);
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** The faults and events around this moment. */
function around(history: readonly ChaosEvent[], at: number): string {
  const on = spansOf(only(history, 'fault')).filter(({ from, to }) => from <= at && at <= to + 5_000);
  const told = on.map(
    ({ fault, target, from, to }) => `${fault} of ${target} from ${(from / 1_000).toFixed(1)} to ${(to / 1_000).toFixed(1)} s`,
  );
  return told.length === 0 ? '' : ` [${told.join('; ')}]`;
}
