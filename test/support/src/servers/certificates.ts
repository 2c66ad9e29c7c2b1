import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../run.ts';

/** The paths of PEM files. */
export interface Certificates {
  readonly ca: string;
  readonly server: KeyPair;
  readonly client: KeyPair;
}

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];

/**
 * Creates a certificate authority, a server certificate for this machine's loopback names, and a
 * client certificate with the common name `clientName`. Needs `openssl`.
 */
export async function makeCertificates(folder: string, clientName: string): Promise<Certificates> {
  const ca = keyPair(folder, 'ca');
  const subject = ['-subj', '/CN=Incumbent test authority'];
  await run('openssl', ['req', '-x509', ...KEY, ...DAYS, ...subject, '-keyout', ca.key, '-out', ca.cert]);
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1';
  // A server may also be its own client, as etcd's JSON gateway is.
  const server = await signed(folder, 'server', ca, {
    commonName: 'localhost',
    extensions: `${names}\nextendedKeyUsage=serverAuth,clientAuth\n`,
  });
  const client = await signed(folder, 'client', ca, { commonName: clientName, extensions: 'extendedKeyUsage=clientAuth\n' });
  return { ca: ca.cert, server, client };
}

interface Subject {
  readonly commonName: string;
  /** In openssl's format. */
  readonly extensions: string;
}

async function signed(folder: string, name: string, ca: KeyPair, { commonName, extensions }: Subject): Promise<KeyPair> {
  const pair = keyPair(folder, name);
  const request = join(folder, `${name}.csr`);
  const extensionFile = join(folder, `${name}.ext`);
  await writeFile(extensionFile, extensions);
  await run('openssl', ['req', '-new', ...KEY, '-subj', `/CN=${commonName}`, '-keyout', pair.key, '-out', request]);
  const signing = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', ...DAYS, '-extfile', extensionFile];
  await run('openssl', ['x509', '-req', '-in', request, ...signing, '-out', pair.cert]);
  return pair;
}

function keyPair(folder: string, name: string): KeyPair {
  return { cert: join(folder, `${name}.pem`), key: join(folder, `${name}-key.pem`) };
}
