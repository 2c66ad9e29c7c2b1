/** Options of scripts, and environment variables of tests, that are numbers. */

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
export function numberOption(name: string, text: string, allowed: NumberOption): number {
  return read(`--${name}`, text, allowed);
}

/**
 * Reads the number in an environment variable, such as `WORLDS=100`. Returns `usual` if there is no
 * such variable.
 *
 * @throws {RangeError} For anything else than such a number. With NaN, a loop would run nothing,
 *   and a test would pass.
 */
export function numberVariable(name: string, usual: number, allowed: NumberOption): number {
  const text = process.env[name];
  return text === undefined ? usual : read(name, text, allowed);
}

function read(name: string, text: string, { from, to = Number.MAX_SAFE_INTEGER, fractions = false }: NumberOption): number {
  const number = (fractions ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text) ? Number(text) : Number.NaN;
  if (number >= from && number <= to) return number;
  const range = to === Number.MAX_SAFE_INTEGER ? `from ${from}` : `from ${from} to ${to}`;
  throw new RangeError(`${name} is "${text}": it must be a ${fractions ? '' : 'whole '}number ${range}`);
}
