/** Options of scripts that are numbers. */

export interface NumberOption {
  /** The smallest number. */
  readonly from: number;
  /** The largest one. Default: the largest exact integer. */
  readonly to?: number;
  /** Whether fractions are allowed. Default false. */
  readonly fractions?: boolean;
}

/**
 * Reads the number that an option of the command line has, such as the `10` of `--seeds 10`.
 *
 * @throws {RangeError} For anything else than such a number. The message names the option.
 */
export function numberOption(name: string, text: string, { from, to = Number.MAX_SAFE_INTEGER, fractions = false }: NumberOption): number {
  const number = (fractions ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text) ? Number(text) : Number.NaN;
  if (number >= from && number <= to) return number;
  const range = to === Number.MAX_SAFE_INTEGER ? `from ${from}` : `from ${from} to ${to}`;
  throw new RangeError(`--${name} is "${text}": it must be a ${fractions ? '' : 'whole '}number ${range}`);
}
