/** Everything that an error, or another value, could show of a secret. */

import { inspect } from 'node:util';

/** Unlike anything else that is printed. */
export const MARKER = 'mKr7Qx2Zt9';

/** All of the text that a value has anywhere in it, and what printing it shows. Bytes count as text. */
export function tracesOf(value: unknown): string {
  const shown = inspect(value, { depth: 10, showHidden: true, maxStringLength: null, maxArrayLength: null });
  return [shown, jsonOf(value), ...textsIn(value, new Set())].join('\n');
}

/** What a call fails with. */
export async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing failed');
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}

function textsIn(value: unknown, seen: Set<object>): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')];
  const own = Reflect.ownKeys(value).flatMap((key) => {
    const held: unknown = Reflect.getOwnPropertyDescriptor(value, key)?.value;
    return [String(key), ...textsIn(held, seen)];
  });
  const entries = value instanceof Map || value instanceof Set ? [...value].flatMap((held: unknown) => textsIn(held, seen)) : [];
  return [...own, ...entries];
}
