/** Where a server listens, and what it demands of clients there: the options, and their checks. */

import { existsSync, readFileSync } from 'node:fs';
import type { ServerOptions as TlsServerOptions } from 'node:https';
import { dirname } from 'node:path';

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from '../../exit.ts';
import { type AccessRules, isLoopbackHost } from './access.ts';
import { ApiServer, type ApiServerOptions, type ListenAddress } from './server.ts';

/** The options of a command that listens. */
export interface ListenOptions {
  readonly listen: ListenAddress;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
}

/** The shortest text that counts as a token. */
const MIN_TOKEN_CHARACTERS = 16;

/** Parses `address:port` or `unix:PATH`. @throws A usage error. */
export function parseListen(text: string): ListenAddress {
  if (text.startsWith('unix:') && text.length > 5) return { path: text.slice(5) };
  const [, host = '', digits = ''] = /^(\[[0-9a-fA-F:]+\]|[^@/:]+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === '' || port > 65_535)
    throw usageError(`--listen is ${describeHidden(text)}: it must be an address and a port, such as 127.0.0.1:4040, or unix: and a path`);
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
}

/** @throws A usage error if the options do not fit together, or a file cannot be read. */
export function listening(options: ListenOptions): { readonly access: AccessRules; readonly tls: TlsServerOptions | undefined } {
  checkTls(options);
  const access = { isLocal: isLocal(options.listen), ...tokenOf(options.tokenFile) };
  const tls = tlsOf(options);
  if (!access.isLocal && access.token === undefined && tls?.requestCert !== true)
    throw usageError('--listen is not loopback: others may connect, so it needs --token-file or --tls-client-ca');
  return { access, tls };
}

/** @throws A usage error if it cannot listen. */
export async function startServer(options: ApiServerOptions): Promise<ApiServer> {
  try {
    return await ApiServer.start(options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const why = error instanceof Error && 'code' in error ? whyNot(options.address, String(error.code)) : '';
    throw usageError(`cannot listen at --listen: ${why}${message}`);
  }
}

/** What the system's error means for the user. Empty if the error needs no explanation. */
function whyNot(address: ListenAddress, code: string): string {
  if (!('path' in address)) {
    if (code === 'EADDRINUSE') return 'another process listens there: ';
    if (code === 'EADDRNOTAVAIL') return 'this machine does not have that address: ';
    return code === 'EACCES' ? 'this user may not listen at that port: ' : '';
  }
  const folder = dirname(address.path);
  // The system reports a missing folder as EACCES.
  if (!existsSync(folder)) return `there is no folder ${folder}: `;
  if (code === 'EINVAL') return 'the path is too long for a socket: ';
  if (code === 'EADDRINUSE') return 'another process listens there, or the file is no socket: ';
  return code === 'EACCES' ? `this user may not create files in ${folder}: ` : '';
}

function checkTls({ tlsCert, tlsKey, tlsClientCa, listen }: ListenOptions): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw usageError('--tls-cert and --tls-key must be given together');
  if (tlsClientCa !== undefined && tlsCert === undefined) throw usageError('--tls-client-ca needs --tls-cert and --tls-key');
  if (tlsCert !== undefined && 'path' in listen) throw usageError('--tls-cert is for TCP: a Unix socket needs no TLS');
}

function isLocal(address: ListenAddress): boolean {
  return 'path' in address || isLoopbackHost(address.host);
}

function tokenOf(file: string | undefined): { readonly token?: string } {
  if (file === undefined) return {};
  const token = readFile('--token-file', file).toString('utf8').trim();
  if (token.length < MIN_TOKEN_CHARACTERS)
    throw usageError(`the token in --token-file is ${describeHidden(token)}: it must have at least ${MIN_TOKEN_CHARACTERS}`);
  return { token };
}

function tlsOf({ tlsCert, tlsKey, tlsClientCa }: ListenOptions): TlsServerOptions | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const own = { cert: readFile('--tls-cert', tlsCert), key: readFile('--tls-key', tlsKey) };
  if (tlsClientCa === undefined) return own;
  return { ...own, ca: readFile('--tls-client-ca', tlsClientCa), requestCert: true, rejectUnauthorized: true };
}

function readFile(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    // Not the system's message, which quotes the path: the path may be a secret by mistake.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw usageError(`the file of ${option} cannot be read: ${code}`);
  }
}
