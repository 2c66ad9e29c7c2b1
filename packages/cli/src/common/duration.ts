/** Durations as users write them. */

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from '../exit.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses `500ms`, `15s`, `1.5m`, `1h` or `0` to ms. @throws A usage error that names the option.
 */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(number) * factor;
  if (text === '0') return 0;
  throw usageError(`${option} is ${describeHidden(text)}: it must be a number with a unit, such as 500ms, 15s, 1.5m or 1h`);
}

/**
 * In the largest unit that gives at least 1, cut after two decimals; below 1 s in whole ms: `2.5s`,
 * `340ms`.
 */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.floor(ms)}ms`;
  const [unit, factor] = Object.entries(UNITS).findLast(([, one]) => ms >= one) ?? ['ms', 1];
  return `${Math.floor((ms / factor) * 100 + 1e-6) / 100}${unit}`;
}
