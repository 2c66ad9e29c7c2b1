/** A store's options as text, for another process of this machine to open it by: passwords and keys are in it. */

import { invalidSecret } from '@incumbent/core/adapter';

import type { TlsOptions } from './tls.ts';

interface NetworkOptions {
  readonly tls?: TlsOptions;
  readonly connect?: unknown;
  readonly clock?: unknown;
}

/** Undefined where they have functions of the caller's own, which only this process has. */
export function accessOf({ connect, clock, tls, ...plain }: NetworkOptions): string | undefined {
  if (connect !== undefined || clock !== undefined) return undefined;
  return JSON.stringify(tls === undefined ? plain : { ...plain, tls: plainTls(tls) });
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

/** PEM is text, though it may have come as bytes. */
function plainTls({ ca, cert, key, ...rest }: TlsOptions): TlsOptions {
  return {
    ...rest,
    ...(ca === undefined ? {} : { ca: isOne(ca) ? text(ca) : ca.map(text) }),
    ...(cert === undefined ? {} : { cert: text(cert) }),
    ...(key === undefined ? {} : { key: text(key) }),
  };
}

type Pem = string | Uint8Array;

function isOne(ca: Pem | readonly Pem[]): ca is Pem {
  return typeof ca === 'string' || ca instanceof Uint8Array;
}

function text(pem: Pem): string {
  return typeof pem === 'string' ? pem : new TextDecoder().decode(pem);
}
