/** Durations as users write them. */

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from '../exit.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Both ends are allowed, in ms. */
export interface DurationRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Parses `500ms`, `15s`, `1.5m`, `1h` or `0` to ms. @throws A usage error that names the option,
 * the value and what is allowed. `range` is for this error: the command checks it.
 */
export function parseDuration(option: string, text: string, range?: DurationRange): number {
  const ms = durationOf(text);
  if (ms !== undefined) return ms;
  const within = range === undefined ? '' : `, from ${showDuration(range.minMs)} to ${showDuration(range.maxMs)}`;
  throw usageError(`${option} is ${showAttempt(text)}: it must be a number with a unit, such as 500ms, 15s, 1.5m or 1h${within}`);
}

function durationOf(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(number) * factor;
  return text === '0' ? 0 : undefined;
}

/** A short number, with at most a word that people write for a unit. */
const LIKE_A_DURATION = /^[+-]?\d{1,9}(?:[.,]\d{1,3})?(?:e\d)? ?(?:ms|s|m|h|d|sec|secs|seconds?|min|mins|minutes?|hours?|days?)?$/i;

/** Shows what looks like a duration. Describes other text by its length: it may be a secret. */
function showAttempt(text: string): string {
  return LIKE_A_DURATION.test(text) ? JSON.stringify(text) : describeHidden(text);
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
