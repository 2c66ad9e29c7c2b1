/**
 * Checks of callers' arguments. Constructors call them, so the stack of the error points at the
 * wrong value. The error is a `TypeError` or `RangeError` with the code `INVALID_OPTION` or
 * `INVALID_NAME`, and names the option, the value and what is allowed.
 */

import { withJson } from './json.ts';
import { describeHidden, showText, type Shown } from './redact.ts';

/**
 * The error for a wrong argument: a `RangeError` if the value has the right type, a `TypeError`
 * otherwise.
 */
export type InvalidInput = (TypeError | RangeError) & { readonly code: 'INVALID_OPTION' | 'INVALID_NAME'; readonly details: object };

/** Shows numbers, bigints, booleans, undefined and null. Describes everything else. */
function showValue(value: unknown): Shown {
  if (typeof value === 'bigint') return { shown: `${value}n`, detail: value };
  const isPlain = typeof value === 'number' || typeof value === 'boolean' || value === undefined || value === null;
  return isPlain ? { shown: String(value), detail: value } : { shown: describeHidden(value), detail: describeHidden(value) };
}

function showName(value: unknown): Shown {
  return typeof value === 'string' ? showText(value) : showValue(value);
}

/**
 * The error for an option that cannot be used. `allowed` completes the sentence "must be …". The
 * error shows numbers, bigints and booleans. It describes everything else by type and length,
 * because a URL or a password may have been put into the wrong option. For an option that is a name
 * or a path use {@link invalidText}; for an option that may itself be a secret use
 * {@link invalidSecret}.
 */
export function invalidOption(option: string, value: unknown, allowed: string): InvalidInput {
  return invalid(option, value, showValue(value), allowed);
}

/**
 * The same for an option that is a name or a path: a namespace, a key, a member id, a file. The
 * error shows this text, because a reader needs the text to find the mistake. Text that looks like
 * a URL with credentials, with `://` or a `:` before a `@` in it, is described instead.
 */
export function invalidText(option: string, value: unknown, allowed: string): InvalidInput {
  return invalid(option, value, showName(value), allowed);
}

/**
 * The same for a value that may hold a secret: the error shows its type and length, or the text
 * `shown` instead.
 */
export function invalidSecret(option: string, value: unknown, allowed: string, shown: string = describeHidden(value)): InvalidInput {
  return invalid(option, value, { shown, detail: shown }, allowed);
}

function invalid(option: string, value: unknown, { shown, detail }: Shown, allowed: string): InvalidInput {
  const message = `${option} is ${shown}: it must be ${allowed}`;
  const known = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string';
  const error = known ? new RangeError(message) : new TypeError(message);
  return Object.assign(error, { code: 'INVALID_OPTION' as const, details: withJson({ option, value: detail }) });
}

/** The most characters in the name of a member, an election or a group. */
export const MAX_NAME_CHARACTERS = 128;
const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${MAX_NAME_CHARACTERS}}$`);

/** True for the name of an election, a group or a member. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && name !== '.' && name !== '..';
}

/**
 * Returns the name of a member, an election or a group.
 *
 * @throws {RangeError} `INVALID_NAME` unless it has 1 to 128 characters of `A-Z a-z 0-9 . _ -` and
 * is neither `.` nor `..`.
 */
export function checkName(what: string, name: unknown): string {
  if (isName(name)) return name;
  const { shown, detail } = showName(name);
  const error = new RangeError(
    `${what} is ${shown}: it must be 1 to ${MAX_NAME_CHARACTERS} characters of A-Z a-z 0-9 . _ - (and not "." or "..")`,
  );
  throw Object.assign(error, { code: 'INVALID_NAME' as const, details: { what, name: detail } });
}

/** Both ends are allowed. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** The reason for the range, for the error message. */
  readonly why?: string;
}

/**
 * Returns the number, or `fallback` if it is undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it is out of range.
 */
export function checkNumber(option: string, value: unknown, fallback: number, range: NumberRange): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && value >= range.min && value <= range.max) return value;
  throw invalidOption(option, value, `a number from ${range.min} to ${range.max}${range.why === undefined ? '' : ` (${range.why})`}`);
}

/**
 * Returns the word, or `fallback` if it is undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it is none of `words`.
 */
export function checkOneOf<const T extends string>(option: string, value: unknown, fallback: T, words: readonly T[]): T {
  if (value === undefined) return fallback;
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  throw invalidOption(option, value, `one of ${words.map((w) => `"${w}"`).join(', ')}`);
}

/**
 * Returns the boolean, or `fallback` if it is undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it is neither `true` nor `false`.
 */
export function checkBoolean(option: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  throw invalidOption(option, value, 'true or false');
}

/**
 * Checks the names of the options: a misspelt option would otherwise silently have its default.
 * `hintOf` returns what the error says at its end about an option of another name.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if there is an option of another name.
 */
export function checkKnown(what: string, options: object, known: readonly string[], hintOf: (name: string) => string = () => ''): void {
  if (typeof options !== 'object' || options === null) throw invalidSecret(`${what} options`, options, 'an object');
  // A promise has no names, so it would pass as an object without options.
  if (options instanceof Promise) throw invalidSecret(`${what} options`, options, 'an object (await the promise)', 'a promise');
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    // Do not show the value: it may be a secret under a misspelt name.
    const { shown, detail } = showText(name);
    const error = new TypeError(`there is no ${what} option ${shown}: the options are ${known.join(', ')}${hintOf(name)}`);
    throw Object.assign(error, { code: 'INVALID_OPTION' as const, details: { option: detail } });
  }
}

/**
 * Checks that an option is a function.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidOption(option, value, 'a function');
}

/** True for an object that has a function of each of these names. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof Reflect.get(value, name) === 'function');
}
