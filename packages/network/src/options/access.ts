/** A store's options as text, for another process of this machine to open it by: passwords and keys are in it. */

import { resolve } from 'node:path';

import { invalidSecret } from '@incumbent/core/adapter';

import { isFile, mapPem, type Pem, type TlsOptions } from '../connect/tls.ts';

interface NetworkOptions {
  readonly tls?: TlsOptions;
  readonly connect?: unknown;
  readonly clock?: unknown;
}

/** Undefined where they have functions of the caller's own, which only this process has. */
export function accessOf({ connect, clock, tls, ...plain }: NetworkOptions): string | undefined {
  if (connect !== undefined || clock !== undefined) return undefined;
  return JSON.stringify(tls === undefined ? plain : { ...plain, tls: mapPem(tls, plainPem) });
}

/** Options that `accessOf` made text of: to be checked like any that come from outside. */
export function optionsIn<T extends object>(access: string): T {
  const options: unknown = JSON.parse(access);
  if (isObject<T>(options)) return options;
  throw invalidSecret('access', options, 'the options of a store');
}

function isObject<T extends object>(value: unknown): value is T {
  return typeof value === 'object' && value !== null;
}

/** PEM is text, though it may have come as bytes. The other process may have another working directory. */
function plainPem(pem: Pem): Pem {
  if (typeof pem === 'string') return pem;
  return isFile(pem) ? { file: resolve(pem.file) } : new TextDecoder().decode(pem);
}
