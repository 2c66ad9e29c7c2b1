/**
 * Converts a user's value into the payload of a record and back. The payload is JSON, which the
 * user's schema checks when it is read, or bytes, which the user's codec encodes and decodes.
 */

import { IncumbentError, isIncumbentError } from '../base/errors.ts';
import { MAX_VALUE_DEPTH, nestsDeeperThan } from '../base/json.ts';
import { describeHidden } from '../base/redact.ts';
import { checkFunction, hasMethods, invalidOption, invalidSecret } from '../base/validate.ts';
import type { Entry, Key } from '../store/contract.ts';
import type { Payload } from './record.ts';

/**
 * The part of Standard Schema (standardschema.dev, version 1) that the SDK uses. Schemas of zod,
 * valibot, arktype and others implement it.
 */
export interface StandardSchema<V> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: unknown; readonly output: V } | undefined;
  };
}

/** Encodes values that are not JSON. Both functions are synchronous. */
export interface ValueCodec<V = unknown> {
  encode(value: V): Uint8Array;
  /** Throws if the bytes are not a value. */
  decode(bytes: Uint8Array): V;
}

/** How values are encoded and checked. By default they are JSON, and not checked. */
export interface ValueOptions<V = unknown> {
  /**
   * Checks a value that was read from the store: a synchronous function that returns the value or
   * throws, or a synchronous Standard Schema. A value that it refuses is `FOREIGN_DATA`, whose
   * `cause` is what the function threw.
   */
  readonly parse?: ((value: unknown) => V) | StandardSchema<V> | undefined;
  /** Encodes values as bytes instead of JSON. Not together with `parse`. */
  readonly codec?: ValueCodec<V> | undefined;
}

/** Converts a user's value into a payload and back. */
export interface PayloadCodec<V> {
  /**
   * Throws `INVALID_OPTION` for a value that JSON cannot hold, or one that is nested too deep, and
   * if the user's codec does not return a `Uint8Array`.
   */
  encode(value: V | undefined): Payload;
  /**
   * `key`: where the payload was read. Throws `FOREIGN_DATA`, which names the key, for a payload of
   * the other kind, or one that the user's schema or codec refuses.
   */
  decode(payload: Payload, key: Key): V | undefined;
}

/**
 * Creates the codec.
 *
 * @throws `INVALID_OPTION` for wrong options.
 */
export function payloadCodec<V>(options: ValueOptions<V>): PayloadCodec<V> {
  const { parse, codec } = checkOptions(options);
  if (codec !== undefined) {
    return {
      encode: (value) => (value === undefined ? undefined : { bytes: toBase64(encodeBytes(codec, value)) }),
      decode: decoder((payload) => decodeBytes(codec, bytesIn(payload))),
    };
  }
  const check = parse === undefined ? trusted<V> : checker(parse);
  return { encode: encodeJson, decode: decoder((payload) => check(jsonIn(payload))) };
}

/**
 * Creates the codec of a key that holds the value alone: JSON in UTF-8, or the bytes of the user's
 * codec. Throws `INVALID_OPTION` for wrong options. Decode an entry with {@link decodeStored}.
 */
export function valueCodec<V>(options: ValueOptions<V>): ValueCodec<V> {
  const { parse, codec } = checkOptions(options);
  if (codec !== undefined) return { encode: (value) => encodeBytes(codec, value), decode: (bytes) => decodeBytes(codec, bytes) };
  const check = parse === undefined ? trusted<V> : checker(parse);
  return { encode: (value) => new TextEncoder().encode(jsonOf(value)), decode: (bytes) => check(parseJson(bytes)) };
}

/** Decodes the value of an entry. Throws `FOREIGN_DATA`, which names the key, if that fails. */
export function decodeStored<V>(codec: ValueCodec<V>, key: Key, entry: Entry | undefined): V | undefined {
  return entry === undefined ? undefined : decodeAt(key, () => codec.decode(entry.value));
}

function decoder<V>(decode: (payload: NonNullable<Payload>) => V): PayloadCodec<V>['decode'] {
  return (payload, key) => (payload === undefined ? undefined : decodeAt(key, () => decode(payload)));
}

/** The message does not quote what the user's function threw, because that may show the value. */
function decodeAt<V>(key: Key, decode: () => V): V {
  try {
    return decode();
  } catch (cause) {
    const [why, details] = isIncumbentError(cause, 'FOREIGN_DATA')
      ? [cause.message, { ...cause.details, key }]
      : ['`parse` or `codec` refused it, and `cause` says why', { key }];
    throw new IncumbentError('FOREIGN_DATA', `the value in ${key} cannot be decoded: ${why}`, { cause, details });
  }
}

function checkOptions<V>(options: ValueOptions<V>): ValueOptions<V> {
  const { parse, codec } = options;
  if (codec === undefined) return options;
  if (parse !== undefined) throw invalidOption('parse', parse, 'left out where codec is given');
  if (codec === null) throw invalidOption('codec', codec, 'an object with the functions encode and decode');
  checkFunction('codec.encode', codec.encode);
  checkFunction('codec.decode', codec.decode);
  return options;
}

function encodeJson(value: unknown): Payload {
  return value === undefined ? undefined : { json: JSON.parse(jsonOf(value)) };
}

function jsonOf(value: unknown): string {
  const json = tryStringify(value);
  if (json === undefined)
    throw invalidSecret('value', value, 'something that JSON can hold, without a bigint or a cycle (or give a codec)');
  if (nestsDeeperThan(MAX_VALUE_DEPTH, json)) throw tooDeep(value);
  return json;
}

function tooDeep(value: unknown): Error {
  return invalidSecret('value', value, `at most ${MAX_VALUE_DEPTH} levels deep`);
}

/** The error has no `cause`, because the one of `JSON.parse` quotes the text. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new IncumbentError('FOREIGN_DATA', 'it is not JSON');
  }
}

/** Undefined for a value that JSON cannot hold. */
function tryStringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // `JSON.stringify` calls itself for each level, so the stack overflows after some thousands.
    if (error instanceof RangeError && error.message.includes('call stack')) throw tooDeep(value);
    return undefined;
  }
}

function jsonIn(payload: NonNullable<Payload>): unknown {
  if ('json' in payload) return payload.json;
  throw new IncumbentError('FOREIGN_DATA', 'it is bytes, and no codec was given');
}

function bytesIn(payload: NonNullable<Payload>): Uint8Array {
  if ('bytes' in payload) return fromBase64(payload.bytes);
  throw new IncumbentError('FOREIGN_DATA', 'it is JSON, and a codec for bytes was given');
}

function encodeBytes<V>(codec: ValueCodec<V>, value: V): Uint8Array {
  const bytes: unknown = codec.encode(value);
  if (bytes instanceof Uint8Array) return bytes;
  ignoreRejection(bytes);
  throw invalidSecret('codec.encode', bytes, 'a function that returns a Uint8Array', `a function that returns ${describeHidden(bytes)}`);
}

function decodeBytes<V>(codec: ValueCodec<V>, bytes: Uint8Array): V {
  return synchronous('codec.decode', codec.decode(bytes));
}

/** Returns the result of the user's function. Throws a `TypeError` if it is a promise. */
function synchronous<R>(name: string, result: R): R {
  if (!hasMethods(result, 'then')) return result;
  ignoreRejection(result);
  throw new TypeError(`${name} works asynchronously: it must return its result, and not a promise`);
}

/** The caller throws an error instead, so Node must not end the process for this rejection. */
function ignoreRejection(result: unknown): void {
  Promise.resolve(result).catch(() => {});
}

function checker<V>(parse: NonNullable<ValueOptions<V>['parse']>): (value: unknown) => V {
  if (typeof parse === 'function') return (value) => synchronous('parse', parse(value));
  if (typeof parse !== 'object' || parse === null || parse['~standard']?.version !== 1) {
    throw invalidOption('parse', parse, 'a function, or a Standard Schema of version 1');
  }
  return (value) => validated<V>(synchronous('parse', parse['~standard'].validate(value)));
}

/**
 * Only tells the compiler the type. Without a schema, `V` is what the caller expects other members
 * to publish, and nothing checks that.
 */
function assumeType<V>(_value: unknown): asserts _value is V {}

function trusted<V>(value: unknown): V {
  assumeType<V>(value);
  return value;
}

function validated<V>(result: unknown): V {
  if (typeof result !== 'object' || result === null) throw new TypeError('parse is a schema that returns no result');
  if ('issues' in result && result.issues !== undefined) {
    throw new IncumbentError('FOREIGN_DATA', 'it does not fit the schema', { details: { issues: result.issues } });
  }
  return trusted('value' in result ? result.value : undefined);
}

function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch (cause) {
    throw new IncumbentError('FOREIGN_DATA', 'it is no base64', { cause });
  }
}

/** True if two values in the store are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
