/** Certificates in files, by a real TLS server. */

import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { type Certificates, LOOPBACK, makeCertificates, makeScratch, type Scratch } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectSocket, judgeSocket, type TlsOptions } from '@incumbent/network';

let scratch: Scratch;
let before: Certificates;
let after: Certificates;

beforeAll(async () => {
  scratch = await makeScratch('network-tls');
  const folders = ['before', 'after'].map((name) => join(scratch.path, name));
  await Promise.all(folders.map((folder) => mkdir(folder)));
  [before, after] = [await makeCertificates(folders[0]!, 'client'), await makeCertificates(folders[1]!, 'client')];
});
afterAll(() => scratch.remove());

/** Takes clients of the same authority alone. */
async function listen({ ca, server }: Pick<Certificates, 'ca' | 'server'>): Promise<Server & AsyncDisposable> {
  const [authority, cert, key] = await Promise.all([ca, server.cert, server.key].map((path) => readFile(path)));
  const listening = createServer({ ca: authority!, cert: cert!, key: key!, requestCert: true, rejectUnauthorized: true });
  listening.on('tlsClientError', () => {});
  listening.on('secureConnection', (socket) => socket.on('error', () => {}).end('welcome'));
  listening.listen(0, LOOPBACK);
  await once(listening, 'listening');
  return Object.assign(listening, { [Symbol.asyncDispose]: async () => void (await once(listening.close(), 'close')) });
}

async function greeting(server: Server, tls: TlsOptions): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const socket = await connectSocket({ host: LOOPBACK, port }, { tls }, new AbortController().signal);
  return (await socket.toArray()).join('');
}

async function renew(to: string, { ca, client }: Certificates): Promise<void> {
  await copyFile(ca, join(to, 'ca.pem'));
  await copyFile(client.cert, join(to, 'cert.pem'));
  await copyFile(client.key, join(to, 'key.pem'));
}

describe('a certificate for another purpose', () => {
  const failureOf = (server: Server, tls: TlsOptions): Promise<unknown> => greeting(server, tls).catch((cause: unknown) => cause);

  it('is refused for good if a server presents a client’s certificate', async () => {
    await using server = await listen({ ca: before.ca, server: before.client });
    const error = await failureOf(server, { ca: { file: before.ca } });
    expect(error).toMatchObject({ code: 'INVALID_PURPOSE' });
    expect(judgeSocket(error)).toEqual(['UNAUTHENTICATED', 'refused']);
  });
});

describe('certificates in files', () => {
  it('are read again for each connection, so renewed ones need no restart', async () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => ({ file: join(scratch.path, `${name}.pem`) }));
    const tls = { ca: [ca!], cert: cert!, key: key! };
    await renew(scratch.path, before);
    await using first = await listen(before);
    expect(await greeting(first, tls)).toBe('welcome');
    await using second = await listen(after);
    const error: unknown = await greeting(second, tls).catch((cause: unknown) => cause);
    expect(judgeSocket(error).slice(0, 2)).toEqual(['UNAUTHENTICATED', 'refused']);
    await renew(scratch.path, after);
    expect(await greeting(second, tls)).toBe('welcome');
  });

  it.each([
    ['a file of another kind', 'hello'],
    ['a file that is empty', ''],
    ['a key', '-----BEGIN PRIVATE KEY-----\n'],
  ])('of authorities must be in the file: %s is named as the cause', async (_what, content) => {
    await using server = await listen(before);
    const file = join(scratch.path, 'no-ca.pem');
    await writeFile(file, content);
    const error: unknown = await greeting(server, { ca: { file } }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      message: `the file ${file} of tls.ca has no certificate in PEM: -----BEGIN CERTIFICATE-----`,
    });
    // The file may be written at this moment.
    expect(judgeSocket(error)).toEqual(['UNREACHABLE', 'notSent']);
  });

  it('that are missing, or do not match, are a failure that may pass', async () => {
    await renew(scratch.path, before);
    await using server = await listen(before);
    const ca = { file: before.ca };
    const missing = await greeting(server, { ca: { file: join(scratch.path, 'none') } }).catch((cause: unknown) => cause);
    expect(missing).toMatchObject({ code: 'ENOENT', message: 'the file of tls.ca cannot be read: ENOENT' });
    const named = await greeting(server, { ca: { file: join(scratch.path, 'none.pem') } }).catch((cause: unknown) => cause);
    expect(named).toMatchObject({ message: `the file ${join(scratch.path, 'none.pem')} of tls.ca cannot be read: ENOENT` });
    expect(judgeSocket(missing)).toEqual(['UNREACHABLE', 'notSent']);
    const mixed = { ca, cert: { file: before.client.cert }, key: { file: after.client.key } };
    const error: unknown = await greeting(server, mixed).catch((cause: unknown) => cause);
    expect(judgeSocket(error)).toEqual(['UNREACHABLE', 'notSent']);
  });
});
