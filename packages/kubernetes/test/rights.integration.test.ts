import { Member, type LeaseId, type Store } from '@incumbent/core';
import { momentOf, systemClock } from '@incumbent/core/adapter';
import { startKubernetes, type KubernetesServer } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { afterEach, expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { KEYS } from './harness.ts';
import { grantOnTestServer, roleRights } from './manifests.ts';

const CALL = { timeoutMs: 10_000 };
const value = new Uint8Array([1]);

interface Stores {
  readonly store: Store;
  readonly lease: LeaseId;
  /** The same server, and another object for keys, which does not exist. */
  readonly fresh: Store;
  open(): Promise<Store>;
}

/** For each right, the call that fails without it. */
const CALLS: Readonly<Record<string, readonly [call: string, run: (stores: Stores) => Promise<unknown>]>> = {
  'get configmaps': ['openKubernetes', ({ open }) => open()],
  'watch configmaps': [
    'watch',
    async ({ store }) => {
      for await (const _ of store.watch('a', { signal: AbortSignal.timeout(CALL.timeoutMs) }));
    },
  ],
  'create configmaps': ['the first compareAndSwap', ({ fresh }) => fresh.compareAndSwap([{ key: 'a', expect: null, put: value }], CALL)],
  'update configmaps': ['compareAndSwap', ({ store }) => store.compareAndSwap([{ key: 'b', expect: null, put: value }], CALL)],
  'get leases': ['enqueue', ({ store, lease }) => store.enqueue('queue', 'me', value, lease, CALL)],
  // On a store that has not used the right: a right that was used may be denied for 5 minutes.
  'create leases': ['grantLease', ({ fresh }) => fresh.grantLease(60_000, { ...CALL, at: momentOf(systemClock) })],
  'update leases': ['renewLease', ({ store, lease }) => store.renewLease(lease, { ...CALL, at: momentOf(systemClock) })],
  'delete leases': ['revokeLease', ({ store, lease }) => store.revokeLease(lease, CALL)],
};

/** Without these, the store reads each lease by itself, and more often. */
const OPTIONAL = ['list leases', 'watch leases'];

const rights = roleRights().map((right) => ({ name: `${right.verb} ${right.resource}`, line: grantOnTestServer(right) }));

let prefixes = 0;

function openAsMember({ url, ca, tokens }: KubernetesServer, prefix: string): Promise<Store> {
  return openKubernetes({ server: url, token: tokens.member, tls: { ca }, namespace: 'default', prefix, keysResource: KEYS });
}

/** A prefix that no other test uses. */
function freshPrefix(): string {
  prefixes += 1;
  return `rights-${prefixes}`;
}

await describeOnServer('the Role, on the real API server', { store: 'kubernetes', start: () => startKubernetes() }, (server) => {
  const grantAllBut = (missing: readonly string[] = []): Promise<void> =>
    server().grant(rights.filter(({ name }) => !missing.includes(name)).map(({ line }) => line));

  afterEach(() => grantAllBut());

  it('has a call that fails for every right, or the right is optional', () => {
    expect(new Set([...Object.keys(CALLS), ...OPTIONAL])).toEqual(new Set(rights.map(({ name }) => name)));
  });

  it.each(Object.entries(CALLS).map(([right, [call, run]]) => ({ right, call, run })))(
    'without "$right", $call fails and names that right',
    async ({ right, run }) => {
      await grantAllBut();
      const prefix = freshPrefix();
      await using store = await openAsMember(server(), prefix);
      await using fresh = await openAsMember(server(), freshPrefix());
      await store.compareAndSwap([{ key: 'a', expect: null, put: value }], CALL);
      const { id: lease } = await store.grantLease(60_000, { ...CALL, at: momentOf(systemClock) });
      await grantAllBut([right]);
      const failed = run({ store, lease, fresh, open: () => openAsMember(server(), prefix) });
      const [verb, resource] = right.split(' ');
      await expect(failed).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining(`missing: ${right}`),
        details: { right, grant: expect.stringContaining(`resources: ["${resource}"], verbs: ["${verb}"]`) },
      });
      // The store ends its lease when it closes.
      await grantAllBut();
    },
  );

  it('without "list leases" and "watch leases", a member leads and hands over', async () => {
    await grantAllBut(OPTIONAL);
    const prefix = freshPrefix();
    await using store = await openAsMember(server(), prefix);
    await using other = await openAsMember(server(), prefix);
    const [first, second] = [new Member(store), new Member(other)];
    const leadership = await first.election('e').campaign();
    const next = second.election('e').campaign();
    await leadership.resign();
    expect((await next).term).toBe(2n);
    await Promise.all([first.close(), second.close()]);
  });
});
