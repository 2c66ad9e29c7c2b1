/**
 * Another process ends a lease with what the store gives it, on every store, with secrets and TLS.
 */

import { momentOf } from '@incumbent/core/adapter';
import { isIncumbentError, openStore, systemClock, type OpenRevoker, type Revoker, type Store } from 'incumbent';
import {
  makeScratch,
  requireStore,
  startConsul,
  startEtcd,
  startPostgres,
  startRedis,
  startZookeeper,
  until,
  type Certificates,
  type OwnServer,
} from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CALL = { timeoutMs: 5_000 };
const SECRET = 'hunter2';
const TOKEN = '11111111-2222-3333-4444-555555555555';

interface Target {
  readonly url: string;
  /** Ends the server permanently. */
  end(): Promise<void>;
}

function certificates({ ca, client }: Certificates): string {
  return new URLSearchParams({ ca, cert: client.cert, key: client.key }).toString();
}

function targetAt(server: OwnServer, scheme: string, user = ''): Target {
  const { host } = new URL(server.url);
  const tls = server.tls === undefined ? '' : `?${certificates(server.tls)}`;
  return { url: `${scheme}${server.tls === undefined ? '' : 's'}://${user}${host}/revokers${tls}`, end: () => server.stop() };
}

function postgresAt(server: OwnServer, user = 'test'): Target {
  const { host } = new URL(server.url);
  const tls = server.tls === undefined ? '' : `&sslmode=verify-full&${certificates(server.tls)}`;
  return { url: `postgres://${user}@${host}/postgres?namespace=revokers${tls}`, end: () => server.stop() };
}

const places: readonly (readonly [string, 'consul' | 'etcd' | 'postgres' | 'redis' | 'sqlite' | 'zookeeper', () => Promise<Target>])[] = [
  ['consul', 'consul', async () => targetAt(await startConsul(), 'consul')],
  ['consul by TLS', 'consul', async () => targetAt(await startConsul({ tls: 'mutual' }), 'consul')],
  ['consul with a token', 'consul', async () => targetAt(await startConsul({ managementToken: TOKEN }), 'consul', `:${TOKEN}@`)],
  ['etcd', 'etcd', async () => targetAt(await startEtcd(), 'etcd')],
  ['etcd by TLS', 'etcd', async () => targetAt(await startEtcd({ tls: 'mutual' }), 'etcd')],
  [
    'etcd with a user',
    'etcd',
    async () => targetAt(await startEtcd({ auth: { user: 'alice', password: SECRET } }), 'etcd', `alice:${SECRET}@`),
  ],
  ['postgres', 'postgres', async () => postgresAt(await startPostgres())],
  [
    'postgres with a user, by TLS',
    'postgres',
    async () => postgresAt(await startPostgres({ tls: 'mutual', auth: { user: 'alice', password: SECRET } }), `alice:${SECRET}`),
  ],
  ['redis', 'redis', async () => targetAt(await startRedis(), 'redis')],
  [
    'redis with a user, by TLS',
    'redis',
    async () => targetAt(await startRedis({ tls: 'mutual', auth: { user: 'alice', password: SECRET } }), 'redis', `alice:${SECRET}@`),
  ],
  [
    'sqlite',
    'sqlite',
    async () => {
      const folder = await makeScratch('revokers');
      return { url: `sqlite:${folder.path}/state.db`, end: () => folder.remove() };
    },
  ],
  ['zookeeper', 'zookeeper', async () => targetAt(await startZookeeper(), 'zookeeper')],
  ['zookeeper by TLS', 'zookeeper', async () => targetAt(await startZookeeper({ tls: 'mutual' }), 'zookeeper')],
  ['zookeeper with a user', 'zookeeper', async () => targetAt(await startZookeeper(), 'zookeeper', `alice:${SECRET}@`)],
];

async function grant(store: Store): Promise<string> {
  return (await store.grantLease(10_000, { ...CALL, at: momentOf(systemClock) })).id;
}

async function put(store: Store, key: string, lease: string): Promise<void> {
  await store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]), lease }], CALL);
}

/** A revoker made from plain text alone, as in another process. */
async function revokerOf({ revocation }: Store): Promise<Revoker> {
  if (revocation === undefined) throw new Error('the store tells no other process how its leases end');
  const { module, access }: { module: string; access: string } = JSON.parse(
    JSON.stringify({ module: revocation.module, access: revocation.access }),
  );
  const loaded: { openRevoker: OpenRevoker } = await import(module);
  return loaded.openRevoker(access);
}

function ticketOf({ revocation }: Store, lease: string): string {
  return revocation?.ticketOf(lease) ?? expect.unreachable('there is no ticket for this lease');
}

/**
 * The error of a renewal, which is repeated while there is no answer. If an owner moves a session
 * back to a ZooKeeper server at the moment when another one ends it, the server may keep that
 * connection and send nothing on it (once in thirty times). The owner closes such a connection.
 */
async function refusal(store: Store, lease: string): Promise<unknown> {
  const renewed = async (): Promise<unknown> =>
    store.renewLease(lease, { ...CALL, at: momentOf(systemClock) }).then(
      () => 'renewed',
      (error: unknown) => (isIncumbentError(error, 'TIMEOUT', 'CONNECTION_LOST') ? undefined : error),
    );
  return until(renewed, { what: 'an answer to a renewal', withinMs: 20_000 });
}

for (const [name, kind, start] of places) {
  describe.runIf(kind === 'sqlite' || (await requireStore({ store: kind, own: true })))(name, () => {
    let place: Target;
    let store: Store;
    let revoker: Revoker;

    beforeAll(async () => {
      place = await start();
      store = await openStore(place.url);
      revoker = await revokerOf(store);
    });
    afterAll(async () => {
      await revoker.close();
      await store.close();
      await place.end();
    });

    it(
      'ends a lease of a store that has another process to do so, with all of its keys and nobody else’s',
      { timeout: 30_000 },
      async () => {
        const [mine, other] = [await grant(store), await grant(store)];
        await put(store, 'mine/a', mine);
        await store.enqueue('mine', 'queue', new Uint8Array(), mine, CALL);
        await put(store, 'theirs/a', other);
        await revoker.revoke(ticketOf(store, mine), CALL);
        expect(await store.list('mine', CALL)).toEqual([]);
        expect((await store.list('theirs', CALL)).map(({ name: key }) => key)).toEqual(['a']);
        expect(await refusal(store, mine)).toMatchObject({ code: 'LEASE_EXPIRED' });
        await store.renewLease(other, { ...CALL, at: momentOf(systemClock) });
        await revoker.revoke(ticketOf(store, other), CALL);
      },
    );

    it('ends one that has ended already without an error, again and again', async () => {
      const lease = await grant(store);
      const ticket = ticketOf(store, lease);
      await store.revokeLease(lease, CALL);
      await revoker.revoke(ticket, CALL);
      await revoker.revoke(ticket, CALL);
    });

    it('does so when the store that was granted it is closed', async () => {
      const former = await openStore(place.url);
      const lease = await grant(former);
      const ticket = ticketOf(former, lease);
      await put(former, 'former/a', lease);
      await former.close();
      await revoker.revoke(ticket, CALL);
      expect(await store.read('former/a', CALL)).toBeUndefined();
    });

    it('gives up what its caller aborts', async () => {
      const lease = await grant(store);
      const reason = new Error('not now');
      await expect(revoker.revoke(ticketOf(store, lease), { ...CALL, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      await store.revokeLease(lease, CALL);
    });
  });
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a revoker', () => {
  it('says of a store that is away that it may be asked again', async () => {
    const etcd = await startEtcd();
    await using store = await openStore(targetAt(etcd, 'etcd').url);
    const revoker = await revokerOf(store);
    const ticket = ticketOf(store, await grant(store));
    await etcd.kill('SIGKILL');
    const failure = await revoker.revoke(ticket, { timeoutMs: 500 }).catch((error: unknown) => error);
    expect(isIncumbentError(failure, 'UNREACHABLE', 'TIMEOUT', 'CONNECTION_LOST')).toBe(true);
    await etcd.restart();
    await revoker.revoke(ticket, CALL);
    await revoker.close();
    await etcd.stop();
  });
});
