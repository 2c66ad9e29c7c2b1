/** What Redis and Valkey refuse: each refusal is a clear error in bounded time. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { inspect } from 'node:util';

import { isIncumbentError, Member } from '@incumbent/core';
import { requireStore, startRedis, until, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';
import { at, CALL, failureOf, LEASE_CALL, put } from './opening.ts';

const servers = [
  { what: 'a redis', version: 'default', isThere: await requireStore({ store: 'redis', own: true }) },
  { what: 'a valkey', version: 'newer', isThere: await requireStore({ store: 'redis', version: 'newer', own: true }) },
] as const;

/** The permissions that the README names, as `ACL SETUSER` takes them. */
async function permissionsInReadme(): Promise<readonly string[]> {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const permissions = [...readme.matchAll(/^A user needs[^]*?^$/gm)].flatMap(([text]) => text.match(/(?<=[`\s])[~&+][^\s`]+/g) ?? []);
  expect(permissions.length).toBeGreaterThan(20);
  return permissions;
}

/** The details of an error that names the right and the grant. */
function expectDenied(failure: unknown): { readonly grant: string } {
  expect(failure).toMatchObject({ details: { right: expect.any(String), keys: ['{team/granted}*'], grant: expect.any(String) } });
  assert.ok(isIncumbentError(failure, 'PERMISSION_DENIED'));
  return { grant: failure.details.grant ?? '' };
}

for (const { what, version, isThere } of servers) {
  const start = (options: NonNullable<Parameters<typeof startRedis>[0]> = {}): Promise<RedisServer> => startRedis({ version, ...options });

  describe.runIf(isThere)(`${what} with users`, () => {
    let server: RedisServer;

    beforeAll(async () => {
      server = await start({ auth: { user: 'alice', password: 'secret' } });
      await server.ctl(['acl', 'setuser', 'mute', 'on', '>secret', '~*', '&*', '+@all', '-publish', '-zadd']);
      await server.ctl(['acl', 'setuser', 'elsewhere', 'on', '>secret', '~{other}*', '&*', '+@all']);
      await server.ctl(['acl', 'setuser', 'deaf', 'on', '>secret', '~*', 'resetchannels', '+@all']);
      await server.ctl(['acl', 'setuser', 'unscripted', 'on', '>secret', '~*', '&*', '+@all', '-@scripting']);
    });
    afterAll(() => server.stop());

    it.each<[string, RedisOptions['credentials']]>([
      ['a wrong password', { username: 'alice', password: 'wrong' }],
      ['an unknown user', { username: 'nobody', password: 'secret' }],
      ['no credentials', undefined],
      ['a password alone that the default user does not have', { password: 'secret' }],
    ])('does not accept %s', async (_, credentials) => {
      const options = { endpoints: at(server), ...(credentials === undefined ? {} : { credentials }) };
      const failure = await failureOf(options);
      expect(failure).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
      expect(String(failure)).not.toContain('secret');
    });

    it('does not repeat the password that a server without HELLO has in its answer', async () => {
      const renamed = await start({ auth: { user: 'alice', password: 'mKr7Qx2Zt9' }, flags: ['--rename-command', 'HELLO', ''] });
      const failure = await failureOf({ endpoints: at(renamed), credentials: { username: 'alice', password: 'mKr7Qx2Zt9' } });
      await renamed.stop();
      expect(failure).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused', message: expect.stringContaining('unknown command HELLO') });
      expect(inspect(failure, { depth: 10, showHidden: true })).not.toContain('mKr7Qx2Zt9');
      expect(JSON.stringify(failure)).not.toContain('mKr7Qx2Zt9');
    });

    it.each<[string, string, RegExp]>([
      ['for two of the commands', 'mute', /may not use zadd, publish,/],
      ['for the keys', 'elsewhere', /no permissions to access (?:one of the keys|a key)/i],
      ['for the channel', 'deaf', /may not use publish, subscribe,/],
      ['for scripts', 'unscripted', /evalsha/],
    ])('names the permission that a user lacks %s', async (_, username, message) => {
      const failure = await failureOf({ endpoints: at(server), namespace: 'team/app', credentials: { username, password: 'secret' } });
      expect(failure).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused', message: expect.stringMatching(message) });
    });

    it.each(['mute', 'elsewhere', 'deaf', 'unscripted'])('names the statement that lets %s in, and it does', async (name) => {
      const options = { endpoints: at(server), namespace: 'team/granted', credentials: { username: name, password: 'secret' } };
      for (let round = 0; round < 3; round += 1) {
        const failure = await failureOf(options);
        if (failure === 'it opened') return;
        const { grant } = expectDenied(failure);
        expect(grant).toMatch(new RegExp(`^ACL SETUSER ${name} `));
        expect(String(failure)).toContain(`to grant it: ${grant}`);
        await server.ctl(grant.split(' '));
      }
      expect.unreachable('the statements did not suffice');
    });

    it('tells a wrong password from a missing one', async () => {
      const failures = await Promise.all([
        failureOf({ endpoints: at(server), credentials: { username: 'alice', password: 'wrong' } }),
        failureOf({ endpoints: at(server) }),
      ]);
      expect(failures.map(String)).toEqual([
        expect.stringContaining('the user or the password is wrong'),
        expect.stringContaining('opened without credentials'),
      ]);
    });

    it('needs each permission that the README names, and reports it before any change', async () => {
      const permissions = await permissionsInReadme();
      const unmissed: string[] = [];
      for (const [index, permission] of permissions.entries()) {
        const others = permissions.filter((other) => other !== permission);
        await server.ctl(['acl', 'setuser', `without-${index}`, 'reset', 'on', '>secret', ...others]);
        const credentials = { username: `without-${index}`, password: 'secret' };
        const failure = await failureOf({ endpoints: at(server), namespace: 'my-app', db: 1, credentials });
        if (failure === 'it opened') unmissed.push(permission);
        else expect(failure, `without ${permission}`).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
      }
      // Without these, only the client's name and the server's notices of changes by hand are
      // missing.
      expect(unmissed).toEqual(['+client|setname', '+client|tracking']);
    });

    it('needs no more permissions than the README names', async () => {
      const permissions = await permissionsInReadme();
      await server.ctl(['acl', 'setuser', 'minimal', 'reset', 'on', '>secret', ...permissions]);
      await using store = await openRedis({
        endpoints: at(server),
        namespace: 'my-app',
        credentials: { username: 'minimal', password: 'secret' },
      });
      await using member = new Member(store, { memberId: 'a', ttlMs: 5_000 });
      const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
      await leadership.publish('hello');
      await leadership.resign();
      expect(await store.list('elections/controller/candidates', CALL)).toEqual([]);
    });

    it('whose user loses a permission later rejects calls, and ends watches', async () => {
      await server.ctl(['acl', 'setuser', 'bob', 'reset', 'on', '>secret', '~*', '&*', '+@all']);
      await using store = await openRedis({ endpoints: at(server), credentials: { username: 'bob', password: 'secret' } });
      await server.ctl(['acl', 'setuser', 'bob', '-evalsha']);
      const grant = 'ACL SETUSER bob +evalsha';
      await expect(put(store, 'a')).rejects.toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused', details: { grant } });
      const watch = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toMatchObject({ code: 'PERMISSION_DENIED', details: { grant } });
    });
  });

  describe.runIf(isThere)(`${what} by TLS`, () => {
    let secure: RedisServer;

    beforeAll(async () => {
      secure = await start({ tls: 'server' });
    });
    afterAll(() => secure.stop());

    it('with a certificate of an unknown authority or of another host is not trusted', async () => {
      const path = secure.tls?.ca ?? '';
      const ca = await readFile(path, 'utf8');
      expect(await failureOf({ endpoints: at(secure), tls: {} })).toMatchObject({ code: 'UNAUTHENTICATED' });
      expect(await failureOf({ endpoints: at(secure), tls: { ca, servername: 'elsewhere.example' } })).toMatchObject({
        code: 'UNAUTHENTICATED',
      });
      await using store = await openRedis(`${secure.url}/tls?ca=${encodeURIComponent(path)}`);
      await using trusting = await openRedis({ endpoints: at(secure), tls: { rejectUnauthorized: false } });
      expect([await store.read('a', CALL), await trusting.read('a', CALL)]).toEqual([undefined, undefined]);
    });

    it('is recognised by a client without TLS, and a server without TLS by a client with it', async () => {
      await using plain = await start();
      for (const options of [{ endpoints: at(plain), tls: {} }, { endpoints: at(secure) }]) {
        const failure = await failureOf(options);
        expect(failure).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', message: expect.stringContaining('TLS') });
      }
    });

    it('that requires a client certificate gets one', async () => {
      await using mutual = await start({ tls: 'mutual' });
      const { ca = '', client } = mutual.tls ?? {};
      const query = `ca=${encodeURIComponent(ca)}`;
      const pair = `cert=${encodeURIComponent(client?.cert ?? '')}&key=${encodeURIComponent(client?.key ?? '')}`;
      await using store = await openRedis(`${mutual.url}/mutual?${query}&${pair}`);
      expect(await store.read('a', CALL)).toBeUndefined();
      await expect(openRedis(`${mutual.url}/mutual?${query}&connectTimeoutMs=2000`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    });
  });

  describe.runIf(isThere)(`${what} that cannot take writes`, () => {
    it('because its memory is full refuses new keys, and still renews leases', async () => {
      await using full = await start();
      await using store = await openRedis({ endpoints: at(full) });
      const lease = await store.grantLease(60_000, LEASE_CALL);
      await store.enqueue('q', 'mine', new Uint8Array(), lease.id, CALL);
      await full.ctl(['config', 'set', 'maxmemory', '100kb']);
      const refused = { code: 'UNAVAILABLE', outcome: 'refused' };
      await expect(put(store, 'a')).rejects.toMatchObject(refused);
      await expect(store.enqueue('q', 'other', new Uint8Array(), lease.id, CALL)).rejects.toMatchObject(refused);
      await expect(store.grantLease(60_000, LEASE_CALL)).rejects.toMatchObject(refused);
      await store.renewLease(lease.id, LEASE_CALL);
      expect((await store.list('q', CALL)).map(({ name }) => name)).toEqual(['mine']);
      await using another = await openRedis({ endpoints: at(full) });
      await another.revokeLease(lease.id, CALL);
      expect(await another.list('q', CALL)).toEqual([]);
    });

    it('because its memory is full lets a leader resign, and hand over', async () => {
      await using full = await start();
      await using stores = new AsyncDisposableStack();
      const [a, b] = await Promise.all(
        ['a', 'b'].map(async (memberId) => {
          const store = stores.use(await openRedis({ endpoints: at(full) }));
          return stores.use(new Member(store, { memberId, ttlMs: 60_000 })).election('x', { acceptWeakStore: 'redis' });
        }),
      );
      if (a === undefined || b === undefined) throw new Error('there are two');
      const first = await a.campaign();
      const next = b.campaign();
      await until(async () => (await a.candidates()).length === 2, { what: 'b waits' });
      await full.ctl(['config', 'set', 'maxmemory', '100kb']);
      await first.handover('b');
      const second = await next;
      expect(second.term).toBe(first.term + 1n);
      await second.resign();
      await full.ctl(['config', 'set', 'maxmemory', '0']);
      expect((await a.campaign()).term).toBe(first.term + 2n);
    });

    it('because it is loading its data is not used yet', async () => {
      // While it loads, it answers clients once in 1,024 commands: every 100 ms.
      await using loading = await start({ flags: ['--key-load-delay', '100'] });
      await loading.ctl(['eval', "for i = 1, 20000 do redis.call('SET', 'k' .. i, i) end", '0']);
      await using store = await openRedis({ endpoints: at(loading) });
      const restarted = loading.restart();
      const refused: unknown[] = [];
      const opened = async (): Promise<boolean> => {
        const failure = await failureOf({ endpoints: at(loading) });
        if (failure !== 'it opened') refused.push(failure);
        return failure === 'it opened';
      };
      await expect.poll(opened, { timeout: 20_000 }).toBe(true);
      expect(refused).toContainEqual(
        expect.objectContaining({ code: 'UNAVAILABLE', outcome: 'notSent', message: expect.stringContaining('LOADING') }),
      );
      await restarted;
      expect(await store.read('a', CALL)).toBeUndefined();
    });

    it('or that may evict keys is not used at all', async () => {
      await using evicting = await start({ flags: ['--maxmemory-policy', 'volatile-lru'] });
      expect(await failureOf({ endpoints: at(evicting) })).toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('maxmemory-policy is volatile-lru, and must be noeviction'),
      });
    });

    it('because it is a replica is passed over, and used when it is promoted', async () => {
      await using first = await start();
      await using second = await start();
      const [host = '', port = ''] = new URL(first.url).host.split(':');
      await second.ctl(['replicaof', host, port]);
      await expect.poll(() => second.ctl(['info', 'replication']), { timeout: 10_000 }).toContain('master_link_status:up');
      expect(await failureOf({ endpoints: at(second) })).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
      await using store = await openRedis({ endpoints: [...at(second), ...at(first)] });
      await put(store, 'a');
      await expect.poll(() => second.ctl(['exists', '{incumbent}/a']), { timeout: 5_000 }).toBe('1\n');
      const stop = new AbortController();
      const seen: unknown[] = [];
      const watching = (async () => {
        for await (const entry of store.watch('b', { signal: stop.signal })) seen.push(entry?.key);
      })();
      await expect.poll(() => seen).toEqual([undefined]);
      // As Sentinel does it.
      await second.ctl(['replicaof', 'no', 'one']);
      const [otherHost = '', otherPort = ''] = new URL(second.url).host.split(':');
      await first.ctl(['replicaof', otherHost, otherPort]);
      const writes = async (): Promise<unknown> => put(store, 'b').catch(() => 'not yet');
      await expect.poll(writes, { timeout: 10_000 }).toMatchObject({ swapped: true });
      expect(await second.ctl(['exists', '{incumbent}/b'])).toBe('1\n');
      await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toBe('b');
      expect((await store.read('a', CALL))?.key).toBe('a');
      stop.abort();
      await watching;
    });
  });
}
