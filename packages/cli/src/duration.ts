/** Durations as people write them. */

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from './exit.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `15s`, `1.5m`, `1h`; a bare 0 too. In ms. Throws a usage error that names the option. */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(number) * factor;
  if (text === '0') return 0;
  throw usageError(`${option} is ${describeHidden(text)}: it must be a number with a unit, as 500ms, 15s, 1.5m, 1h`);
}

/** In the largest unit of which there is one, cut after two places, and ms to whole ones: `2.5s`, `340ms`. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.floor(ms)}ms`;
  const [unit, factor] = Object.entries(UNITS).findLast(([, one]) => ms >= one) ?? ['ms', 1];
  return `${Math.floor((ms / factor) * 100 + 1e-6) / 100}${unit}`;
}
