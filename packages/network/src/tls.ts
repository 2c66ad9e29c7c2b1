/** Whom to trust, and who this is. */

import type { SecureContextOptions } from 'node:tls';

import { checkKnown, invalidOption, invalidSecret } from '@incumbent/core/adapter';

export interface TlsOptions {
  /** Whom to trust, in PEM; in place of the certificate authorities that come with Node. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** This client's own certificate and its key, in PEM, where servers ask for one. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name that the server's certificate must have, where it is not the endpoint's host. */
  readonly servername?: string;
  /** False trusts any server, whoever it is. True by default. */
  readonly rejectUnauthorized?: boolean;
}

/** Throws a `TypeError` or `RangeError` (`INVALID_OPTION`). */
export function checkTls(tls: TlsOptions): void {
  if (typeof tls !== 'object' || tls === null) throw invalidSecret('tls', tls, 'an object; {} trusts what Node trusts');
  checkKnown('tls', tls, ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized']);
  if ((tls.cert === undefined) !== (tls.key === undefined))
    throw invalidOption('tls', tls.key === undefined ? 'a cert alone' : 'a key alone', 'given both cert and key, or neither');
}

/** As Node takes them. */
export function certificatesOf({ ca, cert, key }: TlsOptions): SecureContextOptions {
  const authorities = typeof ca === 'string' || ca instanceof Uint8Array ? [ca] : ca;
  return {
    ...(authorities === undefined ? {} : { ca: authorities.map(pem) }),
    ...(cert === undefined ? {} : { cert: pem(cert) }),
    ...(key === undefined ? {} : { key: pem(key) }),
  };
}

function pem(value: string | Uint8Array): string | Buffer {
  return typeof value === 'string' ? value : Buffer.from(value);
}
