/** Medians with their spread. */

export interface Spread {
  readonly n: number;
  readonly min: number;
  readonly lower: number;
  readonly median: number;
  readonly upper: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const position = share * (sorted.length - 1);
    const [below, above] = [sorted[Math.floor(position)] ?? 0, sorted[Math.ceil(position)] ?? 0];
    return below + (above - below) * (position - Math.floor(position));
  };
  return { n: sorted.length, min: at(0), lower: at(0.25), median: at(0.5), upper: at(0.75), max: at(1) };
}

/** `2.31 (1.9 … 4.0)`: the median and the middle half of the runs. */
export function shown(spread: Spread | undefined): string {
  return spread === undefined ? '–' : `${number(spread.median)} (${number(spread.lower)} … ${number(spread.upper)})`;
}

/** Three significant digits, or two of a value below 0.1. Never an exponent. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value !== 0 && Math.abs(value) < 0.1) return value.toLocaleString('en', { maximumSignificantDigits: 2 });
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `3.25 ms, its floor 3.64 ms`: what was measured, and the least that is possible, if known. */
export function besideFloor(value: number, floor: number | undefined, unit: string): string {
  return `${number(value)} ${unit}${floor === undefined ? '' : `, its floor ${number(floor)} ${unit}`}`;
}
