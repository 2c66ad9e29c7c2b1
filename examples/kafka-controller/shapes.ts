/**
 * Checks of incoming data. A shape is a function that returns the value with its type, or throws a
 * `TypeError`.
 */

export type Shape<T> = (value: unknown) => T;

export const text: Shape<string> = (value) => {
  if (typeof value === 'string') return value;
  throw new TypeError(`expected a string, got ${typeof value}`);
};

/** A whole number from 0. */
export const count: Shape<number> = (value) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`expected a whole number from 0, got ${typeof value === 'number' ? value : typeof value}`);
};

/** A bigint as a string of digits, from 1, because JSON has no bigint. */
export const term: Shape<bigint> = (value) => {
  if (typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value)) return BigInt(value);
  throw new TypeError('expected a term: a string of digits');
};

export function oneOf<const T extends string>(words: readonly T[]): Shape<T> {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    throw new TypeError(`expected one of ${words.join(', ')}`);
  };
}

export function listOf<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value) => {
    if (Array.isArray(value)) return value.map((item: unknown) => shape(item));
    throw new TypeError(`expected a list, got ${typeof value}`);
  };
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value) => (value === null ? null : shape(value));
}

/** An object with these fields; others are left out. */
export function recordOf<T extends object>(fields: { readonly [K in keyof T]: Shape<T[K]> }): Shape<T> {
  return (value) => {
    if (!isObject(value)) throw new TypeError(`expected an object, got ${typeof value}`);
    const read: Partial<T> = {};
    for (const name in fields) read[name] = inField(name, () => fields[name](value[name]));
    if (isComplete(read, fields)) return read;
    throw new TypeError('never');
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function inField<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new TypeError(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function isComplete<T extends object>(read: Partial<T>, fields: object): read is T {
  return Object.keys(fields).every((name) => name in read);
}
