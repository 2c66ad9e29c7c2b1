/** Three Sentinels, a primary and two replicas. */

import { Member, type Leadership, type Store } from '@incumbent/core';
import { requireStore, startSentinels, until, uniqueNamespace, type RedisSentinels } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';

const OPTIONS = { acceptWeakStore: 'redis' } as const;
const NAME = 'controller';
const WITHIN_MS = 60_000;

const hostsOf = (servers: RedisSentinels['sentinels']): readonly string[] => servers.map(({ url }) => new URL(url).host);

describe.runIf(await requireStore({ store: 'redis', own: true }))('a primary that Sentinels replace', { timeout: 3 * WITHIN_MS }, () => {
  let group: RedisSentinels;
  let namespace = '';

  beforeAll(async () => {
    group = await startSentinels();
  }, 2 * WITHIN_MS);
  afterAll(() => group.stop());
  beforeEach(() => {
    namespace = uniqueNamespace();
  });

  const open = (options: Partial<RedisOptions> = {}): Promise<Store> =>
    openRedis({ sentinel: { endpoints: hostsOf(group.sentinels), master: group.master }, namespace, ...options });

  const replicasBeside = (primary: { readonly url: string }): readonly { ctl(args: readonly string[]): Promise<string> }[] =>
    group.servers.filter(({ url }) => url !== primary.url).map((server) => ({ ctl: (args) => server.ctl(args) }));

  /** Waits until the Sentinels name another server. */
  async function replaced(old: string): Promise<void> {
    const isReplaced = async (): Promise<boolean> => (await group.primary()).url !== old;
    await until(isReplaced, { what: 'the Sentinels name another primary', withinMs: WITHIN_MS });
  }

  /** Starts a planned failover, and waits until the Sentinels name another server. */
  async function failOver(old: string): Promise<void> {
    // The Sentinel refuses while a failover of a moment ago is still under way.
    const isAccepted = (): Promise<boolean> =>
      group.sentinels[0]?.ctl(['sentinel', 'failover', group.master]).then(
        () => true,
        () => false,
      ) ?? Promise.resolve(false);
    await until(isAccepted, { what: 'the Sentinel accepts', withinMs: WITHIN_MS });
    await replaced(old);
  }

  const faults = {
    'is killed': async () => {
      const old = await group.primary();
      await old.kill();
      await replaced(old.url);
      return () => old.restart();
    },
    'is paused': async () => {
      const old = await group.primary();
      await old.pause();
      await replaced(old.url);
      return () => old.resume();
    },
    'fails over by SENTINEL FAILOVER': async () => {
      const old = await group.primary();
      await failOver(old.url);
      // Until then it accepts writes, which the failover loses.
      const isReplica = async (): Promise<boolean> => (await old.ctl(['info', 'replication'])).includes('role:slave');
      await until(isReplica, { what: 'the old primary is a replica', withinMs: WITHIN_MS });
      return async () => {};
    },
  };

  it.each(Object.entries(faults))('keeps an election going when it %s, and terms still rise', async (_, fail) => {
    await using store = await open();
    await using other = await open();
    await using a = new Member(store, { memberId: 'a' });
    await using b = new Member(other, { memberId: 'b' });
    const first = await a.election(NAME, OPTIONS).campaign();
    const next: Promise<Leadership> = b.election(NAME, OPTIONS).campaign();
    next.catch(() => {});
    const queued = async (): Promise<boolean> => (await other.list(`elections/${NAME}/candidates`, { timeoutMs: 5_000 })).length === 2;
    await until(queued, { what: 'b has joined', withinMs: WITHIN_MS });
    const before = await group.primary();
    for (const { ctl } of replicasBeside(before)) {
      const entries = async (): Promise<string> => ctl(['zcard', `{${namespace}}:index:elections/${NAME}/candidates`]);
      await until(async () => (await entries()).trim() === '2', { what: 'the replica has both candidates', withinMs: WITHIN_MS });
    }
    const mend = await fail();
    const after = await group.primary();
    expect(after.url).not.toBe(before.url);
    const leader = (): Promise<string> => after.ctl(['hget', `{${namespace}}/elections/${NAME}/leader`, 'v']);
    await until(
      () =>
        first.isValid()
          ? first.publish('moved').then(
              () => true,
              () => false,
            )
          : true,
      { what: 'a leader writes', withinMs: WITHIN_MS },
    );
    if (first.isValid()) await first.resign();
    const second = await next;
    expect(second.memberId).toBe('b');
    expect(second.term).toBeGreaterThan(first.term);
    expect(await leader()).toContain('"b"');
    await mend();
    await group.settled();
    // The server that was replaced is a replica now, and nobody leads by it.
    expect((await before.ctl(['info', 'replication'])).includes('role:slave')).toBe(true);
    expect(second.isValid()).toBe(true);
    await second.resign();
  });

  it('is left for the one that the Sentinels name, although it still accepts writes', async () => {
    const old = await group.primary();
    // The Sentinels cannot make it a replica.
    await old.ctl(['acl', 'setuser', 'default', '-replicaof', '-slaveof']);
    try {
      await using store = await open();
      await using member = new Member(store, { memberId: 'a' });
      const leadership = await member.election(NAME, OPTIONS).campaign();
      const leaderAt = (server: { ctl(args: readonly string[]): Promise<string> }): Promise<string> =>
        server.ctl(['hget', `{${namespace}}/elections/${NAME}/leader`, 'v']);
      for (const replica of replicasBeside(old))
        await until(async () => (await leaderAt(replica)).includes('"a"'), { what: 'the replica knows the leader', withinMs: WITHIN_MS });
      await failOver(old.url);
      const next = await group.primary();
      const isMoved = async (): Promise<boolean> => {
        await leadership.publish('moved').catch(() => {});
        return (await leaderAt(next)).includes('moved');
      };
      await until(isMoved, { what: 'the leader writes at the new primary', withinMs: WITHIN_MS });
      expect(await old.ctl(['info', 'replication'])).toContain('role:master');
      expect(leadership.isValid()).toBe(true);
    } finally {
      await old.ctl(['acl', 'setuser', 'default', '+replicaof', '+slaveof']);
      await group.settled();
    }
  });

  it('is found although the first Sentinels cannot be reached', async () => {
    const [one = '', two = '', three = ''] = hostsOf(group.sentinels);
    await using store = await open({ sentinel: { endpoints: ['127.0.0.1:1', '127.0.0.1:2', three, one, two], master: group.master } });
    expect(await store.read('nothing', { timeoutMs: 5_000 })).toBeUndefined();
  });

  it.each([
    [
      'no Sentinel answers',
      { endpoints: ['127.0.0.1:1', '127.0.0.1:2'] },
      'UNREACHABLE',
      /none of the 2 Sentinels .*Sentinel 127\.0\.0\.1:[12]: .*ECONNREFUSED/,
    ],
    ['the Sentinels do not know the primary', { master: 'other' }, 'UNSUPPORTED', /no primary named "other": check sentinel\.master/],
    ['the address is a server', 'servers', 'UNSUPPORTED', /it is no Sentinel/],
  ] as const)('is not found if %s, and the error says so', async (_, wrong, code, message) => {
    const right = { endpoints: hostsOf(group.sentinels), master: group.master };
    const sentinel = wrong === 'servers' ? { ...right, endpoints: hostsOf(group.servers) } : { ...right, ...wrong };
    await expect(open({ sentinel })).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('is not found at the address of a Sentinel without the option', async () => {
    await expect(openRedis({ endpoints: hostsOf(group.sentinels), namespace })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('redis+sentinel://'),
    });
  });
});

describe.runIf(await requireStore({ store: 'redis', own: true }))('Sentinels with users and TLS', { timeout: 3 * WITHIN_MS }, () => {
  const auth = { user: 'app', password: 'of-the-servers' };
  const sentinelAuth = { user: 'finder', password: 'of-the-sentinels' };
  let group: RedisSentinels;

  beforeAll(async () => {
    group = await startSentinels({ auth, sentinelAuth, tls: 'mutual' });
  }, 2 * WITHIN_MS);
  afterAll(() => group.stop());

  const tlsOf = ([one]: RedisSentinels['servers'], tls = one?.tls): NonNullable<RedisOptions['tls']> => ({
    ...(tls === undefined ? {} : { ca: { file: tls.ca }, cert: { file: tls.client.cert }, key: { file: tls.client.key } }),
  });
  const optionsOf = (password = sentinelAuth.password): RedisOptions => ({
    sentinel: {
      endpoints: hostsOf(group.sentinels),
      master: group.master,
      credentials: { username: sentinelAuth.user, password },
      tls: tlsOf(group.sentinels),
    },
    credentials: { username: auth.user, password: auth.password },
    tls: tlsOf(group.servers),
    namespace: 'app',
  });

  it('are asked with their own user and certificate', async () => {
    await using store = await openRedis(optionsOf());
    await using member = new Member(store, { memberId: 'a' });
    const leadership = await member.election(NAME, OPTIONS).campaign();
    expect(leadership.isValid()).toBe(true);
    // The reaper's process has the options as text.
    expect(store.revocation).toBeDefined();
  });

  it('refuse a wrong password, and the error names whose it is', async () => {
    const error: unknown = await openRedis(optionsOf('secret')).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'UNAUTHENTICATED',
      outcome: 'refused',
      message: expect.stringMatching(/Sentinel .*WRONGPASS.*sentinelPassword/),
    });
    expect(String(error)).not.toContain('secret');
  });

  it('that deny their user permission name the grant for that user', async () => {
    const permit = (rule: string): Promise<unknown> =>
      Promise.all(group.sentinels.map((sentinel) => sentinel.ctl(['acl', 'setuser', sentinelAuth.user, rule])));
    await permit('-sentinel|get-master-addr-by-name');
    try {
      const error: unknown = await openRedis(optionsOf()).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'PERMISSION_DENIED', details: { grant: expect.stringMatching(/^ACL SETUSER finder /) } });
    } finally {
      await permit('+sentinel|get-master-addr-by-name');
    }
  });
});
