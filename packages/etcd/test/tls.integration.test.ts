import { readFile } from 'node:fs/promises';

import type { Store } from '@incumbent/core';
import { openEtcd, type TlsOptions } from '@incumbent/etcd';
import { requireStore, startEtcd, until, type Certificates, type EtcdServer } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const options = { timeoutMs: 3_000 };

describe.runIf(await requireStore({ store: 'etcd', own: true }))('TLS', () => {
  let etcd: EtcdServer;
  let certificates: Certificates;
  const stores: Store[] = [];

  beforeAll(async () => {
    etcd = await startEtcd({ tls: 'mutual' });
    if (etcd.tls === undefined) throw new Error('etcd was started without certificates');
    certificates = etcd.tls;
  });
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
  afterAll(() => etcd.stop());

  async function own(): Promise<TlsOptions> {
    const { ca, client } = certificates;
    return { ca: await readFile(ca), cert: await readFile(client.cert, 'utf8'), key: await readFile(client.key) };
  }

  async function open(tls: TlsOptions, host = '127.0.0.1'): Promise<Store> {
    const store = await openEtcd({ endpoints: [`${host}:${new URL(etcd.url).port}`], tls });
    stores.push(store);
    return store;
  }

  it('carries calls and watches', async () => {
    const store = await open(await own());
    const watch = new Recorder((watchOptions) => store.watch('a', watchOptions));
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(100_000) }], options);
    await until(() => watch.latest?.value.length === 100_000, { what: 'the value' });
    await watch.stop();
  });

  it('is configured by a URL that names files', async () => {
    const { ca, client } = certificates;
    const query = new URLSearchParams({ ca, cert: client.cert, key: client.key });
    const store = await openEtcd(`etcds://localhost:${new URL(etcd.url).port}/app?${query.toString()}`);
    stores.push(store);
    await store.read('a', options);
  });

  const refused = { name: 'StoreError', code: 'UNAUTHENTICATED', outcome: 'refused' };

  it('refuses a server whose certificate no known authority has signed', async () => {
    const { ca: _, ...strangers } = await own();
    await expect(open(strangers)).rejects.toMatchObject(refused);
    // Unless the options say so.
    await (await open({ ...strangers, rejectUnauthorized: false })).read('a', options);
  });

  it('refuses a server whose certificate has another name', async () => {
    await expect(open({ ...(await own()), servername: 'etcd.example' })).rejects.toMatchObject(refused);
    await (await open({ ...(await own()), servername: 'localhost' })).read('a', options);
  });

  it('without a certificate is refused by a server that requires one', async () => {
    await expect(open({ ca: (await own()).ca ?? '' })).rejects.toMatchObject(refused);
  });

  it('fails as unreachable on a server without TLS', async () => {
    await using plain = await startEtcd();
    const tls = openEtcd({ endpoints: [`127.0.0.1:${new URL(plain.url).port}`], tls: {} });
    // It hangs up in the middle of the first words, without any of its own.
    await expect(tls).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('is required: without it the server is unreachable', async () => {
    const plain = openEtcd({ endpoints: [`127.0.0.1:${new URL(etcd.url).port}`], connectTimeoutMs: 2_000 });
    await expect(plain).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});
