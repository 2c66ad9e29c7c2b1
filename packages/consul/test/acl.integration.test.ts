/**
 * Consul with ACLs: what tokens allow, and leases on servers that answer for unknown sessions
 * without asking each other.
 */

import { readFile } from 'node:fs/promises';

import { Member, type Store } from '@incumbent/core';
import { requireStore, startConsul, uniqueNamespace, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { leaseCall } from './fake-agent.ts';
import { CONNECT_TIMEOUT_MS, hostOf, openingFailure } from './opening.ts';

const TOKEN = '11111111-2222-3333-4444-555555555555';
const CALL = { timeoutMs: 5_000 };

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
    return 'it succeeded';
  } catch (error) {
    return error;
  }
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('with ACLs', () => {
  let consul: ConsulServer;
  beforeAll(async () => {
    consul = await startConsul({ managementToken: TOKEN });
  });
  afterAll(() => consul.stop());

  function openStore(): Promise<Store> {
    return openConsul({ endpoint: hostOf(consul), namespace: uniqueNamespace(), token: TOKEN });
  }

  it('a lease that is gone can be revoked again', async () => {
    await using store = await openStore();
    const { id } = await store.grantLease(2_000, leaseCall());
    await store.revokeLease(id, CALL);
    await store.revokeLease(id, CALL);
  });

  it('the renewal of a lease that another client has revoked fails with LEASE_EXPIRED', async () => {
    await using store = await openStore();
    await using other = await openStore();
    const { id } = await store.grantLease(2_000, leaseCall());
    await other.revokeLease(id, CALL);
    await expect(store.renewLease(id, leaseCall())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });

  /** Creates a token with these rules. */
  async function tokenFor(rules: string): Promise<string> {
    const name = uniqueNamespace('policy');
    await consul.ctl(['acl', 'policy', 'create', `-name=${name}`, `-rules=${rules}`]);
    const created = await consul.ctl(['acl', 'token', 'create', `-policy-name=${name}`]);
    return /SecretID:\s+(\S+)/.exec(created)?.[1] ?? '';
  }

  it('a wrong token is unknown, and no token has no permission', async () => {
    const wrong = '99999999-2222-3333-4444-555555555555';
    const error = await openingFailure({ endpoint: hostOf(consul), token: wrong });
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(String(error)).not.toContain(wrong);
    expect(await openingFailure({ endpoint: hostOf(consul) })).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
  });

  it('a call that the token does not allow is refused', async () => {
    const namespace = uniqueNamespace();
    const reader = await tokenFor(`key_prefix "${namespace}/" { policy = "read" }`);
    await using store = await openConsul({ endpoint: hostOf(consul), namespace, token: reader });
    // The token may not register services.
    expect(store.capabilities.minTtlMs).toBe(10_000);
    expect(await store.read('a', CALL)).toBeUndefined();
    const denied = { code: 'PERMISSION_DENIED', outcome: 'refused' };
    await expect(store.grantLease(10_000, leaseCall())).rejects.toMatchObject(denied);
    await expect(store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL)).rejects.toMatchObject(denied);
    await expect(store.enqueue('q', 'a', new Uint8Array(), TOKEN, CALL)).rejects.toMatchObject(denied);
    expect(await openingFailure({ endpoint: hostOf(consul), namespace, token: reader, session: 'check' })).toMatchObject(denied);
    await using other = await openConsul({ endpoint: hostOf(consul), namespace, token: TOKEN });
    const watch = other.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toEqual({ done: false, value: undefined });
    await using member = new Member(store, { memberId: 'a' });
    await expect(member.election('controller').campaign()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('names the key, the right and the rule that grants it, and the rules together suffice', async () => {
    const namespace = uniqueNamespace();
    const reader = await tokenFor(`key_prefix "${namespace}/" { policy = "read" }`);
    await using store = await openConsul({ endpoint: hostOf(consul), namespace, token: reader });
    const lease = await failureOf(store.grantLease(10_000, leaseCall()));
    expect(lease).toMatchObject({ details: { right: 'session:write', keys: [], grant: expect.stringContaining('session_prefix') } });
    const swap = await failureOf(store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], CALL));
    expect(swap).toMatchObject({
      message: expect.stringContaining(`missing: key:write on "${namespace}/a"; to grant it: the rule key_prefix "${namespace}/"`),
      details: { right: 'key:write', keys: [`${namespace}/a`] },
    });
    const stranger = await openingFailure({ endpoint: hostOf(consul), namespace, token: await tokenFor('') });
    expect(stranger).toMatchObject({ details: { right: 'key:read', keys: [`${namespace}/`] } });
    const check = await openingFailure({ endpoint: hostOf(consul), namespace, token: reader, session: 'check' });
    expect(check).toMatchObject({ details: { right: 'service:write', keys: [] } });
    const rules = [lease, swap, check].map((failure) => /(?<=the rule )\w+ "\S*" \{ policy = "write" \}/.exec(String(failure))?.[0]);
    const granted = await tokenFor(rules.join(' '));
    await using works = await openConsul({ endpoint: hostOf(consul), namespace, token: granted, session: 'check' });
    const { id } = await works.grantLease(2_000, leaseCall());
    expect(await works.enqueue('q', 'a', new Uint8Array(), id, CALL)).toMatchObject({ lease: id });
  });

  it('tells a wrong token from a missing one', async () => {
    const wrong = '99999999-2222-3333-4444-555555555555';
    expect(String(await openingFailure({ endpoint: hostOf(consul), token: wrong }))).toContain('the token is wrong');
    expect(String(await openingFailure({ endpoint: hostOf(consul) }))).toContain('opened without a token');
  });

  it('elections work with the permissions that the README lists', async () => {
    const namespace = uniqueNamespace();
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const rules = (/```hcl\n([^`]*)```/.exec(readme)?.[1] ?? '').replaceAll('my-app/', `${namespace}/`);
    await using store = await openConsul({ endpoint: hostOf(consul), namespace, token: await tokenFor(rules) });
    expect(store.capabilities.minTtlMs).toBe(1_000);
    await using member = new Member(store, { memberId: 'a', ttlMs: 2_000 });
    const leadership = await member.election('controller').campaign();
    expect(leadership.term).toBe(1n);
    await leadership.resign();
  });

  /**
   * What happens at an opening and a campaign with a token that has some of the permissions that
   * the README lists.
   */
  async function resultWith(
    { keys = 'write', rest }: { readonly keys?: 'read' | 'write' | 'none'; readonly rest: readonly string[] },
    session: 'auto' | 'check',
  ): Promise<string> {
    const namespace = uniqueNamespace();
    const rules = [...(keys === 'none' ? [] : [`key_prefix "${namespace}/" { policy = "${keys}" }`]), ...rest].join(' ');
    const options = { endpoint: hostOf(consul), namespace, token: await tokenFor(rules), session, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    const from = performance.now();
    const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : String(error));
    const store = await openConsul(options).catch(codeOf);
    if (typeof store === 'string') return `${store} at opening`;
    await using _closing = store;
    await using member = new Member(store, { memberId: 'a', ttlMs: 10_000 });
    const result = await member
      .election('controller')
      .campaign()
      .then(async (leadership) => {
        await leadership.resign();
        return `leads, ${store.capabilities.minTtlMs} ms`;
      }, codeOf);
    // A loose bound, because the machine may be busy.
    expect(performance.now() - from).toBeLessThan(2 * CONNECT_TIMEOUT_MS + 5_000);
    return result;
  }

  const SESSIONS = 'session_prefix "" { policy = "write" }';
  const SERVICE = 'service "incumbent" { policy = "write" }';

  it.each([
    ['a permission for keys', { keys: 'none', rest: [SESSIONS, SERVICE] }, 'PERMISSION_DENIED at opening', 'PERMISSION_DENIED at opening'],
    ['the permission to write keys', { keys: 'read', rest: [SESSIONS, SERVICE] }, 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
    ['the permission for sessions', { rest: [SERVICE] }, 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
    ['the permission for the service', { rest: [SESSIONS] }, 'leads, 10000 ms', 'PERMISSION_DENIED at opening'],
    ['no permission', { rest: [SESSIONS, SERVICE] }, 'leads, 1000 ms', 'leads, 1000 ms'],
  ] as const)('a token that lacks %s fails in bounded time, or binds sessions to no check', async (_, lacking, auto, check) => {
    expect([await resultWith(lacking, 'auto'), await resultWith(lacking, 'check')]).toEqual([auto, check]);
  });

  it('the report names the rule without which sessions are bound to no check, also to a token that may not read the version', async () => {
    const namespace = uniqueNamespace();
    const keys = `key_prefix "${namespace}/" { policy = "write" }`;
    const version = 'agent_prefix "" { policy = "read" }';
    const reportWith = async (...rules: readonly string[]): Promise<unknown> => {
      await using store = await openConsul({ endpoint: hostOf(consul), namespace, token: await tokenFor(rules.join(' ')) });
      return await store.inspect?.(CALL);
    };
    // The rule for nodes was needed before leases became services.
    expect(await reportWith(keys, SESSIONS, 'node_prefix "" { policy = "write" }')).toEqual({
      facts: [{ what: 'sessions', detail: expect.stringContaining('within twice the ttl') }],
      warnings: [SERVICE, version].map((rule) => expect.stringContaining(`to grant it: the rule ${rule}`)),
    });
    expect(await reportWith(keys, SESSIONS, SERVICE, version)).toEqual({
      version: expect.stringMatching(/^\d+\.\d+/),
      facts: [{ what: 'sessions', detail: expect.stringContaining('within the ttl') }],
      warnings: [],
    });
  });

  it('a watch whose token was deleted ends with UNAUTHENTICATED', async () => {
    const namespace = uniqueNamespace();
    const token = await tokenFor(`key_prefix "${namespace}/" { policy = "read" }`);
    await using store = await openConsul({ endpoint: hostOf(consul), namespace, token, watchWaitMs: 1_000 });
    const watch = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toEqual({ done: false, value: undefined });
    const next = watch.next();
    // The watch may end before it is awaited.
    next.catch(() => {});
    const accessors = (await consul.ctl(['acl', 'token', 'list'])).match(/(?<=AccessorID:\s+)\S+/g) ?? [];
    for (const id of accessors) {
      const described = await consul.ctl(['acl', 'token', 'read', `-id=${id}`]);
      if (described.includes(token)) await consul.ctl(['acl', 'token', 'delete', `-id=${id}`]);
    }
    await expect(next).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
