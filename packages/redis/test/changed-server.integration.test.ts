/** What a real server does to the adapter that nobody asked it for: clocks that are set, settings that change, rights on half of the keys. */

import type { Entry, Lease, Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';

const CALL = { timeoutMs: 5_000 };
const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const ONE = new Uint8Array([1]);
const MIB = 2 ** 20;

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis', () => {
  let server: RedisServer;
  let store: Store;
  let namespace: string;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    namespace = uniqueNamespace();
    store = await open();
    return () => store.close();
  });

  const open = (options: Partial<RedisOptions> = {}): Promise<Store> =>
    openRedis({ endpoints: [new URL(server.url).host], namespace, ...options });
  const grant = (ttlMs: number): Promise<Lease> => store.grantLease(ttlMs, LEASE_CALL);
  const put = (key: string, value: Uint8Array = ONE): Promise<unknown> => store.compareAndSwap([{ key, expect: null, put: value }], CALL);
  const ctl = (...args: readonly string[]): Promise<string> => server.ctl(args);

  function follow<T>(states: (options: { signal: AbortSignal }) => AsyncIterable<T>): {
    readonly seen: T[];
    readonly stop: () => Promise<void>;
  } {
    const [seen, abort]: [T[], AbortController] = [[], new AbortController()];
    const done = (async () => {
      for await (const state of states({ signal: abort.signal })) seen.push(state);
    })();
    const stop = (): Promise<void> => {
      abort.abort();
      return done;
    };
    return { seen, stop };
  }

  it('whose clock was set back gives no lease more than its ttl from when somebody looks', async () => {
    const lease = await grant(1_000);
    await store.enqueue('q', 'a', ONE, lease.id, CALL);
    // What a clock that is an hour behind makes of it.
    await ctl('pexpire', `{${namespace}}:lease:${lease.id}`, '3600000');
    const { seen, stop } = follow<Entry | undefined>((options) => store.watch('q/a', options));
    await expect.poll(() => seen.length, { timeout: 4_000 }).toBe(1);
    await expect.poll(() => seen.at(-1), { timeout: 3_000 }).toBeUndefined();
    expect(seen).toHaveLength(2);
    await stop();
  });

  it('that evicts keys since it was opened is left at the next connection', async () => {
    await ctl('config', 'set', 'maxmemory-policy', 'allkeys-lru');
    try {
      await ctl('client', 'kill', 'type', 'normal', 'skipme', 'yes');
      await expect
        .poll(() =>
          put('a').then(
            () => 'done',
            (error: unknown) => error,
          ),
        )
        .toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    } finally {
      await ctl('config', 'set', 'maxmemory-policy', 'noeviction');
    }
    await put('a');
  });

  it.each(['/*', '/* ~{ns}:lease:* ~{ns}:bound:* ~{ns}:leases ~{ns}:clock', '* resetkeys ~{ns} %R~{ns}*'])(
    'does not open for a user with half of the keys: ~{ns}%s',
    async (keys) => {
      const rules = `on >secret &* +@all ~{ns} ~{ns}${keys}`.replaceAll('{ns}', `{${namespace}}`);
      await ctl('acl', 'setuser', 'half', 'reset', ...rules.split(' '));
      await expect(open({ credentials: { username: 'half', password: 'secret' } })).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        outcome: 'refused',
      });
    },
  );

  it('that would cut off whoever listens and asks for too much is not asked for it', async () => {
    const { seen, stop } = follow<Entry | undefined>((options) => store.watch('w', options));
    await expect.poll(() => seen.length).toBe(1);
    for (let i = 0; i < 40; i += 1) await put(`q/${i}`, new Uint8Array(MIB));
    const lease = await grant(60_000);
    const list = store.list('q', CALL).then(
      () => 'listed',
      (error: unknown) => error,
    );
    const renewal = store.renewLease(lease.id, LEASE_CALL).then(
      () => 'renewed',
      (error: unknown) => error,
    );
    expect(await list).toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(await renewal).toBe('renewed');
    // One by one they are not too much, and neither is a part of them.
    const reads = await Promise.all(Array.from({ length: 40 }, (_, i) => store.read(`q/${i}`, CALL)));
    expect(reads.map((entry) => entry?.value.length)).toEqual(Array.from({ length: 40 }, () => MIB));
    expect(await store.list('q', { ...CALL, last: 4 })).toHaveLength(4);
    expect(await store.list('q', { ...CALL, values: false })).toHaveLength(40);
    expect(seen).toHaveLength(1);
    await stop();
  });

  it('with a key whose fields somebody else has written answers with an error of ours', async () => {
    await ctl('hset', `{${namespace}}/a`, 'r', '1', 'o', 'first', 'l', '', 'v', 'x');
    const unknown = { name: 'StoreError', code: 'STORE_FAILED' };
    await expect(store.read('a', CALL)).rejects.toMatchObject(unknown);
    await expect(put('a')).rejects.toMatchObject(unknown);
  });

  it('with a key whose fields somebody else has written serves all other calls of that moment', async () => {
    await ctl('hset', `{${namespace}}/a`, 'r', '1', 'o', 'first', 'l', '', 'v', 'x');
    const lease = await grant(60_000);
    const read = store.read('a', CALL).catch((error: unknown) => error);
    const renewals: Promise<unknown>[] = [];
    // Reads of one turn are sent together, a little later: some of these renewals are sent after it.
    for (let i = 0; i < 20; i += 1) {
      renewals.push(store.renewLease(lease.id, LEASE_CALL));
      await Promise.resolve();
    }
    expect(await read).toMatchObject({ code: 'STORE_FAILED' });
    await Promise.all(renewals);
  });

  it('with a lease whose value somebody else has written answers a renewal with an error of ours', async () => {
    const lease = await grant(60_000);
    await ctl('set', `{${namespace}}:lease:${lease.id}`, 'what');
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'STORE_FAILED',
      outcome: 'unknown',
    });
  });
});
