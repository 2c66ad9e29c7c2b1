/** JSON on the command line: terms as strings of digits, errors as their code and message. */

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from '../exit.ts';

/** One value as one line. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'bigint') return String(part);
    if (part instanceof Error) return 'code' in part ? { code: part.code, message: part.message } : { message: part.message };
    return part;
  });
}

/** A member's published value on one line; empty if it publishes none. */
export function showValue(value: unknown): string {
  return value === undefined ? '' : toJson(value);
}

/**
 * The value of `--value`: JSON, or plain text. Text such as `12345678901234567890`, `12e4567` (the
 * hash of a commit) or `1.10` (a version) stays text, because a number would be printed otherwise.
 *
 * @throws A usage error for JSON that is not valid.
 */
export function parseValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && JSON.stringify(value) !== text.trim() ? text : value;
  } catch {
    if (/^\s*[[{"]/.test(text)) throw usageError(`--value begins like JSON but is not valid JSON: it is ${describeHidden(text)}`);
    return text;
  }
}
