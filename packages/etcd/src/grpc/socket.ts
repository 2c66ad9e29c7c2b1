/** The byte stream below HTTP/2. */

import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

import type { Endpoint } from './session.ts';

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

/** TCP's own probes, for the time in which no request is under way and etcd allows no pings. */
const SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 } as const;

export function connectSocket({ host, port }: Endpoint, tls: TlsOptions | undefined): Duplex {
  if (tls === undefined) return connectTcp({ ...SOCKET, host, port });
  const { servername, rejectUnauthorized = true } = tls;
  return connectTls({
    ...SOCKET,
    host,
    port,
    ALPNProtocols: ['h2'],
    rejectUnauthorized,
    ...(servername === undefined ? {} : { servername }),
    ...certificates(tls),
  });
}

function certificates({ ca, cert, key }: TlsOptions): SecureContextOptions {
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
