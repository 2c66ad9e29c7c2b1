import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Certificates, KeyPair } from '../certificates.ts';

/** The paths of PEM files in ZooKeeper's format: a certificate and its key in one file. */
export interface Keystores {
  readonly authority: string;
  readonly server: string;
  readonly client: string;
}

export async function makeKeystores(folder: string, { ca, server, client }: Certificates): Promise<Keystores> {
  return { authority: ca, server: await combined(folder, 'server', server), client: await combined(folder, 'client', client) };
}

async function combined(folder: string, name: string, { cert, key }: KeyPair): Promise<string> {
  const path = join(folder, `${name}-keystore.pem`);
  const parts = await Promise.all([cert, key].map((file) => readFile(file, 'utf8')));
  await writeFile(path, parts.join(''), { mode: 0o600 });
  return path;
}
