/** Finds everything that an error or another value could reveal of a secret. */

import { inspect } from 'node:util';

/** A text that nothing else prints. */
export const MARKER = 'mKr7Qx2Zt9';

/** All text anywhere in a value, and what printing it shows. Bytes count as text. */
export function tracesOf(value: unknown): string {
  const shown = inspect(value, { depth: 10, showHidden: true, maxStringLength: null, maxArrayLength: null });
  return [shown, jsonOf(value), ...textsIn(value, new Set())].join('\n');
}

/** The error of a call. */
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

/**
 * The forms in which a secret may appear: as text, in hexadecimal, and the part of its base64 that
 * does not depend on what follows.
 */
const FORMS = [MARKER, Buffer.from(MARKER).toString('hex'), Buffer.from(MARKER).toString('base64').slice(0, 12)];

/**
 * The texts that contain the marker in any form and any case. For `expect(showing(…)).toEqual([])`.
 */
export function showing(texts: readonly string[]): readonly string[] {
  const forms = FORMS.map((form) => form.toLowerCase());
  return texts.filter((text) => forms.some((form) => text.toLowerCase().includes(form)));
}

/**
 * What errors, logs and events may show of an option. `described`: only its type and length.
 * `shown`: a name or a host, which is shown unless it looks like a URL with credentials. `path`:
 * the same, but it may contain a `:` and a `@`. `public`: text that may be shown.
 */
export type OptionKind = 'described' | 'shown' | 'path' | 'public';

/** Every option of a type: an option that is missing here is an error of the compiler. */
export type OptionTable<O> = Readonly<Record<keyof O, OptionKind>>;

/**
 * Values with the marker in them, for an option of this kind; each is wrong there, or at least
 * should not be shown.
 */
export function misplaced(kind: OptionKind): readonly unknown[] {
  if (kind === 'public') return [];
  const urls = [`redis://app:${MARKER}@127.0.0.1:1/x`, `redis://:${MARKER}`];
  const login = `app:${MARKER}@127.0.0.1:1`;
  const others = [urls, { token: MARKER }, { file: `:${MARKER}@` }, Buffer.from(MARKER)];
  if (kind === 'path') return [...urls, ...others];
  if (kind === 'shown') return [...urls, login, ...others];
  const work = Object.assign(() => {}, { token: MARKER });
  return [...urls, login, ...others, MARKER, `${MARKER}@`, `${MARKER}!`, `12 ${MARKER}`, [MARKER], { file: MARKER }, work, Symbol(MARKER)];
}

/** The rows of a table, for `it.each`: the option, and a value for it. */
export function misplacedIn<O>(table: OptionTable<O>): readonly (readonly [option: string, value: unknown])[] {
  return Object.entries<OptionKind>(table).flatMap(([option, kind]) => misplaced(kind).map((value) => [option, value] as const));
}
