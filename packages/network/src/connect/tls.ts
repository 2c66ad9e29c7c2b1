/** Certificates and keys. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ConnectionOptions, SecureContextOptions } from 'node:tls';

import { checkBoolean, checkKnown, invalidOption, invalidSecret } from '@incumbent/core/adapter';

import { errorCode } from '../errors/verdict.ts';
import { omitUndefined } from '../options/omit-undefined.ts';

/** A certificate or a key in PEM, or the file that contains it. */
export type Pem = string | Uint8Array | PemFile;

/**
 * A file in PEM. The store reads it again for each new connection, so a renewed certificate needs
 * no restart. While the file cannot be read, or a certificate and its key do not match, connections
 * fail and are tried again.
 */
export interface PemFile {
  readonly file: string;
}

/** How to connect by TLS. `{}` uses the defaults. */
export interface TlsOptions {
  /** The certificate authorities to trust, instead of those that come with Node. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** The certificate of this client and its key, if servers require one. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  /** The name that the server's certificate must have. Default: the host of the endpoint. */
  readonly servername?: string | undefined;
  /** False trusts any server. Default true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/**
 * Checks the options. Reads no file.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`.
 */
export function checkTls(tls: TlsOptions): void {
  if (typeof tls !== 'object' || tls === null) throw invalidSecret('tls', tls, 'an object; {} trusts what Node trusts');
  checkKnown('tls', tls, ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized']);
  if ((tls.cert === undefined) !== (tls.key === undefined))
    throw invalidSecret('tls', tls, 'given both cert and key, or neither', tls.key === undefined ? 'a cert alone' : 'a key alone');
  const { servername, rejectUnauthorized } = tls;
  // Node rejects another type only after it has started to connect, and leaks the socket.
  if (servername !== undefined && typeof servername !== 'string') throw invalidOption('tls.servername', servername, 'a name');
  checkBoolean('tls.rejectUnauthorized', rejectUnauthorized, true);
  for (const name of ['ca', 'cert', 'key'] as const) {
    for (const pem of listOf(tls[name])) checkPem(`tls.${name}`, pem);
  }
}

/**
 * The options for Node.
 *
 * @throws An error with the system's code, such as `ENOENT`, for a file that cannot be read. An
 *   error without a code if no certificate is in `ca`: Node would trust no server, and not say why.
 */
export function certificatesOf({ ca, cert, key }: TlsOptions): SecureContextOptions {
  return omitUndefined({
    ca: ca === undefined ? undefined : listOf(ca).map(authorityOf),
    cert: cert === undefined ? undefined : contentOf('cert', cert),
    key: key === undefined ? undefined : contentOf('key', key),
  });
}

/**
 * The options for `connect` of `node:tls`, to a server at this host.
 *
 * @throws An error as {@link certificatesOf} does.
 */
export function tlsConnectOptions(host: string, tls: TlsOptions): ConnectionOptions {
  // Node sends the name to the server (SNI) only if it is given. An IP address is not a name.
  const { servername = isIP(host) === 0 ? host : undefined, rejectUnauthorized = true } = tls;
  return { rejectUnauthorized, ...omitUndefined({ servername }), ...certificatesOf(tls) };
}

/** The same options, with `convert` applied to each certificate and key. */
export function mapPem({ ca, cert, key, ...rest }: TlsOptions, convert: (pem: Pem) => Pem): TlsOptions {
  return {
    ...rest,
    ...omitUndefined({
      ca: ca === undefined ? undefined : isOne(ca) ? convert(ca) : ca.map(convert),
      cert: cert === undefined ? undefined : convert(cert),
      key: key === undefined ? undefined : convert(key),
    }),
  };
}

/** Whether any of the certificates or keys is in a file. */
export function readsFiles({ ca, cert, key }: Pick<TlsOptions, 'ca' | 'cert' | 'key'>): boolean {
  return [ca, cert, key].flatMap(listOf).some(isFile);
}

export function isFile(pem: Pem): pem is PemFile {
  return typeof pem === 'object' && 'file' in pem;
}

function isOne(pem: Pem | readonly Pem[]): pem is Pem {
  return !Array.isArray(pem);
}

function listOf(pem: Pem | readonly Pem[] | undefined): readonly Pem[] {
  if (pem === undefined) return [];
  return isOne(pem) ? [pem] : pem;
}

function checkPem(name: string, pem: unknown): void {
  if (typeof pem === 'string' || pem instanceof Uint8Array) return;
  const hasFile = typeof pem === 'object' && pem !== null && 'file' in pem && typeof pem.file === 'string' && pem.file !== '';
  if (!hasFile) throw invalidSecret(name, pem, 'PEM as text or bytes, or { file: path }');
}

function authorityOf(pem: Pem): string | Buffer {
  const content = contentOf('ca', pem);
  if (/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(content.toString('latin1'))) return content;
  throw new Error(`${isFile(pem) ? nameOf('ca', pem) : 'tls.ca'} has no certificate in PEM: -----BEGIN CERTIFICATE-----`);
}

function contentOf(name: string, pem: Pem): string | Buffer {
  if (typeof pem === 'string') return pem;
  if (!isFile(pem)) return Buffer.from(pem);
  try {
    return readFileSync(pem.file);
  } catch (error) {
    // Without the system's error, which contains the path.
    const code = errorCode(error);
    throw Object.assign(new Error(`${nameOf(name, pem)} cannot be read: ${code}`), { code });
  }
}

/** Does not show a path that may be a key by mistake: a key has several lines, or no dot. */
function nameOf(name: string, { file }: PemFile): string {
  return `${/^[^\r\n]+\.\w{2,5}$/.test(file) ? `the file ${file} of` : 'the file of'} tls.${name}`;
}
