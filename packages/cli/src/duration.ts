/** Durations as people write them. */

import { usageError } from './exit.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `15s`, `1.5m`, `1h`; a bare 0 too. In ms. Throws a usage error that names the option. */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(number) * factor;
  if (text === '0') return 0;
  throw usageError(`${option} is "${text}": it must be a number with a unit, as 500ms, 15s, 1.5m, 1h`);
}

/** The shortest that says the same to a person: `2.5s`, `340ms`. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.floor(ms)}ms`;
  return ms < 60_000 ? `${Math.floor(ms / 10) / 100}s` : `${Math.floor(ms / 600) / 100}m`;
}
