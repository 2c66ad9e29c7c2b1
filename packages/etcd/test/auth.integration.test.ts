/** Users, passwords and tokens that run out. */

import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { systemClock, type Entry, type Moment, type Store } from '@incumbent/core';
import { openEtcd, type EtcdOptions } from '@incumbent/etcd';
import { type EtcdServer, hostOf, makeScratch, requireStore, type Scratch, startEtcd, until } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const options = { timeoutMs: 3_000 };
const auth = { user: 'alice', password: 'wonder land?' };
/**
 * etcd cuts the end of a JWT to a whole second (`time.Now().Add(ttl).Unix()` in its `jwt.go`), so a
 * token lives up to one second less than this. It must live long enough for a busy machine to use
 * it.
 */
const TOKEN_LIVES_MS = 4_000;

function now(): Moment {
  return { monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() };
}

/** Tokens with an expiry time, so that they expire soon and differ from a missing token. */
async function jwt(scratch: Scratch): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const [pub, priv] = [join(scratch.path, 'pub.pem'), join(scratch.path, 'priv.pem')];
  await writeFile(pub, publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(priv, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  return `--auth-token=jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256,ttl=${TOKEN_LIVES_MS}ms`;
}

describe.runIf(await requireStore({ store: 'etcd', own: true })).each(['simple', 'jwt'] as const)(
  'etcd with users and %s tokens',
  (kind) => {
    let scratch: Scratch;
    let etcd: EtcdServer;
    const stores: Store[] = [];

    beforeAll(async () => {
      scratch = await makeScratch('jwt');
      etcd = await startEtcd({ auth, flags: kind === 'jwt' ? [await jwt(scratch)] : [] });
      await etcd.ctl(['user', 'add', 'bob:builder']);
      await etcd.ctl(['role', 'add', 'small']);
      await etcd.ctl(['role', 'grant-permission', 'small', 'readwrite', '--prefix=true', 'bobs/']);
      await etcd.ctl(['user', 'grant-role', 'bob', 'small']);
    });
    afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
    afterAll(async () => {
      await etcd.stop();
      await scratch.remove();
    });

    async function open(credentials: EtcdOptions['credentials'], namespace = 'shared'): Promise<Store> {
      const endpoints = [hostOf(etcd.url)];
      const store = await openEtcd(credentials === undefined ? { endpoints, namespace } : { endpoints, namespace, credentials });
      stores.push(store);
      return store;
    }

    const alice = (): Promise<Store> => open({ username: auth.user, password: auth.password });
    const bob = (namespace: string): Promise<Store> => open({ username: 'bob', password: 'builder' }, namespace);

    async function create(store: Store, key: string): Promise<void> {
      expect(await store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]) }], options)).toMatchObject({ swapped: true });
    }

    it('opens by URL, with any characters in the password', async () => {
      const store = await openEtcd(`etcd://alice:${encodeURIComponent(auth.password)}@${hostOf(etcd.url)}/shared`);
      stores.push(store);
      await store.read('a', options);
    });

    it('refuses a wrong password and an unknown user at opening, and missing credentials at the first call at the latest', async () => {
      const refused = { name: 'StoreError', code: 'UNAUTHENTICATED', outcome: 'refused' };
      await expect(open({ username: 'alice', password: 'wrong' })).rejects.toMatchObject(refused);
      await expect(open({ username: 'mallory', password: 'wrong' })).rejects.toMatchObject(refused);
      const nobody = open(undefined).then((store) => store.read('a', options));
      await expect(nobody).rejects.toMatchObject(refused);
    });

    it('reports what is not permitted at the first use, in calls and in watches', async () => {
      const own = await bob('bobs');
      await create(own, `own-${kind}`);
      const foreign = await bob('shared');
      const denied = { code: 'PERMISSION_DENIED', outcome: 'refused' };
      await expect(foreign.read('a', options)).rejects.toMatchObject(denied);
      await expect(foreign.list('q', options)).rejects.toMatchObject(denied);
      await expect(foreign.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(0) }], options)).rejects.toMatchObject(denied);
      const watch = new Recorder((watchOptions) => foreign.watch('a', watchOptions));
      expect(await watch.ended).toMatchObject(denied);
      expect([watch.states, watch.stale]).toEqual([[], []]);
    });

    it('names the missing right, the key and a command that grants it, which works', async () => {
      const [user, namespace] = [`dora-${kind}`, `doras-${kind}`];
      await etcd.ctl(['role', 'add', user]);
      await etcd.ctl(['user', 'add', `${user}:explorer`]);
      await etcd.ctl(['user', 'grant-role', user, user]);
      const store = await open({ username: user, password: 'explorer' }, namespace);
      const grant = `etcdctl role grant-permission ROLE readwrite --prefix=true ${namespace}/`;
      const denied = (right: string, key: string): object => ({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining(`missing: ${right} on "${namespace}/${key}"; to grant it: ${grant}`),
        details: { right, keys: [`${namespace}/${key}`], grant: expect.stringContaining(grant) },
      });
      await expect(store.read('a', options)).rejects.toMatchObject(denied('read', 'a'));
      await expect(store.list('q', options)).rejects.toMatchObject(denied('read', 'q/'));
      const change = { key: 'b', expect: null, put: new Uint8Array(1) };
      await expect(store.compareAndSwap([change], options)).rejects.toMatchObject(denied('readwrite', 'b'));
      const { id } = await store.grantLease(5_000, { ...options, at: now() });
      await expect(store.enqueue('q', 'x', new Uint8Array(1), id, options)).rejects.toMatchObject(denied('readwrite', 'q/x'));
      const watch = new Recorder((watchOptions) => store.watch('w', watchOptions));
      expect(await watch.ended).toMatchObject(denied('read', 'w'));
      await etcd.ctl(grant.replace('ROLE', user).split(' ').slice(1));
      await create(store, 'b');
      expect(await store.read('b', options)).toBeDefined();
    });

    it('tells a wrong password from a missing one', async () => {
      await expect(open({ username: 'alice', password: 'wrong' })).rejects.toThrow('the user name or the password is wrong');
      const nobody = open(undefined).then((store) => store.read('a', options));
      await expect(nobody).rejects.toThrow('opened without credentials');
    });

    it('needs no right beyond its own prefix for an election', async () => {
      const store = await bob('bobs');
      const [one, other] = await Promise.all([1, 2].map(() => store.grantLease(5_000, { ...options, at: now() })));
      const list = new Recorder((watchOptions) => store.watchList(`q-${kind}`, watchOptions));
      const entry = await store.enqueue(`q-${kind}`, 'bob', new Uint8Array(1), one?.id ?? '', options);
      await store.renewLease(one?.id ?? '', { ...options, at: now() });
      const rebound = { key: entry.key, expect: entry.revision, put: new Uint8Array(2), lease: other?.id ?? '' };
      expect(await store.compareAndSwap([rebound], options)).toMatchObject({ swapped: true });
      expect(await store.list(`q-${kind}`, { ...options, last: 1 })).toMatchObject([{ lease: other?.id }]);
      await until(() => list.latest?.[0]?.value.length === 2, { what: 'the entry' });
      for (const lease of [one, other]) await store.revokeLease(lease?.id ?? '', options);
      await until(() => list.latest?.length === 0, { what: 'the end of the entry' });
      await list.stop();
    });

    it('renews its token: no call fails, and old and new watches continue', async () => {
      const store = await alice();
      const old = new Recorder<Entry | undefined>((watchOptions) => store.watch(`old-${kind}`, watchOptions));
      await until(() => old.states.length === 1, { what: 'the first state' });
      await sleep(TOKEN_LIVES_MS + 1_500);
      const fresh = new Recorder<Entry | undefined>((watchOptions) => store.watch(`new-${kind}`, watchOptions));
      await until(() => fresh.states.length === 1, { what: 'the first state of a watch after the token’s end' });
      await Promise.all(Array.from({ length: 20 }, () => store.read('a', options)));
      await create(store, `old-${kind}`);
      await create(store, `new-${kind}`);
      await until(() => old.latest !== undefined && fresh.latest !== undefined, { what: 'both changes' });
      // The older stream keeps its watches: nothing was lost.
      expect([old.stale, fresh.stale]).toEqual([[], []]);
      await Promise.all([old.stop(), fresh.stop()]);
    });

    it('continues after a restart of the server, which has forgotten all tokens', async () => {
      const store = await alice();
      const lease = await store.grantLease(10_000, { ...options, at: now() });
      const watch = new Recorder<Entry | undefined>((watchOptions) => store.watch(`restart-${kind}`, watchOptions));
      await until(() => watch.states.length === 1, { what: 'the first state' });
      await etcd.kill();
      await etcd.restart();
      await store.renewLease(lease.id, { ...options, at: now() });
      await create(store, `restart-${kind}`);
      await until(() => watch.latest !== undefined, { what: 'the change' });
      expect(watch.stale.length).toBe(1);
      await watch.stop();
    });

    it('ends its watches with an error when the password has changed', async () => {
      await etcd.ctl(['user', 'add', `carol-${kind}:first`]);
      await etcd.ctl(['user', 'grant-role', `carol-${kind}`, 'small']);
      const store = await open({ username: `carol-${kind}`, password: 'first' }, 'bobs');
      const watch = new Recorder((watchOptions) => store.watch('a', watchOptions));
      await until(() => watch.states.length === 1, { what: 'the first state' });
      await etcd.ctl(['user', 'delete', `carol-${kind}`]);
      await etcd.kill();
      await etcd.restart();
      expect(await watch.ended).toMatchObject({ code: 'UNAUTHENTICATED' });
      await expect(store.read('a', options)).rejects.toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    });
  },
);
