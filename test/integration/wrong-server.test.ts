/**
 * Opens a store on another store's server, or with TLS on a server without it, or the other way
 * round.
 */

import { openStore } from 'incumbent';
import { freePort, requireStore, startConsul, startEtcd, startRedis, startZookeeper, type OwnServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CONNECT_MS = 3_000;

const stores = ['consul', 'etcd', 'redis', 'zookeeper'] as const;
type Name = (typeof stores)[number];

const starts: Readonly<Record<Name, (options?: { readonly tls: 'server' }) => Promise<OwnServer>>> = {
  consul: startConsul,
  etcd: startEtcd,
  redis: startRedis,
  zookeeper: startZookeeper,
};

/**
 * The error of opening one store on another's server. If the server just closes the connection or
 * waits for more data, no more can be known.
 */
const told: readonly (readonly [Name, Name, string, RegExp])[] = [
  ['consul', 'etcd', 'UNSUPPORTED', /is not Consul/],
  ['consul', 'redis', 'UNREACHABLE', /is not Consul/],
  ['consul', 'zookeeper', 'UNREACHABLE', /is not Consul/],
  ['etcd', 'consul', 'UNSUPPORTED', /Protocol error/],
  ['etcd', 'redis', 'UNSUPPORTED', /Protocol error/],
  ['etcd', 'zookeeper', 'UNREACHABLE', /closed the connection immediately/],
  ['redis', 'consul', 'UNSUPPORTED', /does not speak RESP/],
  ['redis', 'etcd', 'UNREACHABLE', /before it had answered/],
  ['redis', 'zookeeper', 'UNREACHABLE', /before it had answered/],
  ['zookeeper', 'consul', 'UNREACHABLE', /accepted, and said nothing/],
  ['zookeeper', 'etcd', 'UNREACHABLE', /accepted, and said nothing/],
  ['zookeeper', 'redis', 'UNREACHABLE', /accepted, and said nothing/],
];

const overTls: readonly (readonly [Name, string, RegExp])[] = [
  ['consul', 'UNSUPPORTED', /wrong version number/],
  ['etcd', 'UNREACHABLE', /before TLS was agreed on/],
  ['redis', 'UNREACHABLE', /not Redis, or that expects no TLS/],
  ['zookeeper', 'UNREACHABLE', /before TLS was agreed on/],
];

const withoutTls: readonly (readonly [Name, string, RegExp])[] = [
  ['consul', 'UNSUPPORTED', /HTTP request to an HTTPS server/],
  ['etcd', 'UNREACHABLE', /closed the connection immediately/],
  ['redis', 'UNREACHABLE', /as a server does that expects TLS/],
  ['zookeeper', 'UNAVAILABLE', /ended the connection in place of opening a session/],
];

/** `redis:` for a URL of any scheme, and `rediss:` for TLS. */
function urlOf(name: Name, host: string, tls = ''): string {
  return `${name}${tls === '' ? '' : 's'}://${host}/wrong?connectTimeoutMs=${CONNECT_MS}${tls}`;
}

/** The error of opening, which must come in time. */
async function failureOf(url: string): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await openStore(url).then(
    (store) => store.close().then(() => 'it opened'),
    (error: unknown) => error,
  );
  expect(performance.now() - from).toBeLessThan(3 * CONNECT_MS);
  return failure;
}

const are = await Promise.all(stores.map((store) => requireStore({ store, own: true })));

describe.runIf(are.every(Boolean))('a server that is another one', () => {
  const plain = new Map<Name, string>();
  const secure = new Map<Name, { readonly host: string; readonly ca: string }>();
  const started: OwnServer[] = [];

  beforeAll(async () => {
    await Promise.all(
      stores.map(async (name) => {
        const [open, closed] = await Promise.all([starts[name](), starts[name]({ tls: 'server' })]);
        started.push(open, closed);
        plain.set(name, new URL(open.url).host);
        secure.set(name, { host: new URL(closed.url).host, ca: closed.tls?.ca ?? '' });
      }),
    );
  });
  afterAll(() => Promise.all(started.map((server) => server.stop())));

  it.each(told)('%s on the port of %s: %s', async (store, other, code, message) => {
    expect(await failureOf(urlOf(store, plain.get(other) ?? ''))).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each(overTls)('%s by TLS where it is not spoken: %s', async (store, code, message) => {
    const { ca } = secure.get(store) ?? { ca: '' };
    const failure = await failureOf(urlOf(store, plain.get(store) ?? '', `&ca=${encodeURIComponent(ca)}`));
    expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each(withoutTls)('%s in plain text where TLS is spoken: %s', async (store, code, message) => {
    const failure = await failureOf(urlOf(store, secure.get(store)?.host ?? ''));
    expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each(stores)('%s says that nobody is there, or that nobody knows the name', async (store) => {
    for (const host of [`127.0.0.1:${await freePort()}`, 'no-such-host.invalid'])
      expect(await failureOf(urlOf(store, host))).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});
