/**
 * The options of a store as text, so that another process of this machine can open the store. The
 * text contains passwords and keys.
 */

import { resolve } from 'node:path';

import { invalidSecret } from '@incumbent/core/adapter';

import { isFile, mapPem, type Pem, type TlsOptions } from '../connect/tls.ts';

interface NetworkOptions {
  readonly tls?: TlsOptions | undefined;
  readonly connect?: unknown;
  readonly clock?: unknown;
}

/** Undefined if the options contain functions, which another process cannot get. */
export function accessOf({ connect, clock, tls, ...plain }: NetworkOptions): string | undefined {
  if (connect !== undefined || clock !== undefined) return undefined;
  return JSON.stringify(tls === undefined ? plain : { ...plain, tls: plainTls(tls) });
}

/**
 * The options in a text of `accessOf`. Check them like options of a user.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if the text is not the JSON of an object. The
 * error does not show the text.
 */
export function optionsIn<T extends object>(access: string): T {
  const options = parsed(access);
  if (isOptions<T>(options)) return options;
  throw invalidSecret('access', options, 'the options of a store');
}

/** Returns text that is not JSON unchanged. The error of `JSON.parse` could show a secret. */
function parsed(access: string): unknown {
  try {
    return JSON.parse(access);
  } catch {
    return access;
  }
}

function isOptions<T extends object>(value: unknown): value is T {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The options as another process of this machine can use them, also through JSON. */
export function plainTls(tls: TlsOptions): TlsOptions {
  return mapPem(tls, plainPem);
}

/** PEM as text, and paths as absolute: the other process may have another working directory. */
function plainPem(pem: Pem): Pem {
  if (typeof pem === 'string') return pem;
  return isFile(pem) ? { file: resolve(pem.file) } : new TextDecoder().decode(pem);
}
