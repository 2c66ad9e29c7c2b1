/** Creates certificates for members, with openssl. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PeerTls } from '../../src/index.ts';

const run = promisify(execFile);
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

/** Creates an authority in a new folder. */
export class Authority {
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  async make(): Promise<this> {
    await run('openssl', ['req', '-x509', ...KEY, '-subj', `/CN=${this.#name}`, '-keyout', this.#path('key'), '-out', this.#path('pem')]);
    return this;
  }

  /** Creates a certificate with this common name and these DNS names. */
  async certify(
    commonName: string,
    names: readonly string[] = [],
    nameOf?: PeerTls['nameOf'],
    usage = 'serverAuth,clientAuth',
  ): Promise<PeerTls> {
    const [request, key, cert, ext] = ['csr', 'key', 'pem', 'ext'].map((end) => this.#path(`${commonName.replace('*', 'x')}.${end}`));
    const alternatives = names.length === 0 ? '' : `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}\n`;
    await writeFile(ext!, `${alternatives}extendedKeyUsage=${usage}\n`);
    await run('openssl', ['req', '-new', ...KEY.slice(0, -2), '-subj', `/CN=${commonName}`, '-keyout', key!, '-out', request!]);
    const signing = ['-CA', this.#path('pem'), '-CAkey', this.#path('key'), '-CAcreateserial', '-days', '2', '-extfile', ext!];
    await run('openssl', ['x509', '-req', '-in', request!, ...signing, '-out', cert!]);
    const [ca, own, secret] = await Promise.all([this.#path('pem'), cert!, key!].map((path) => readFile(path, 'utf8')));
    return { ca: ca!, cert: own!, key: secret!, ...(nameOf === undefined ? {} : { nameOf }) };
  }

  #path(end: string): string {
    return join(this.#folder, `${this.#name}.${end}`);
  }
}
