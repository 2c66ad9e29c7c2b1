import { connect, type Socket } from 'node:net';

import { Member, systemClock, systemRandom, type Leadership, type ListOptions } from '@incumbent/core';
import { requireStore, startZookeeper, uniqueNamespace, until, ZookeeperRequests, type ZookeeperServer } from '@incumbent/test-support';
import { connectSocket, SharedAllowance } from '@incumbent/network';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';
import { endSession } from '../src/client/end-session.ts';
import { Passwords } from './support/passwords.ts';

const WITHIN_MS = 20_000;

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a failover on zookeeper', () => {
  let server: ZookeeperServer;

  beforeAll(async () => {
    server = await startZookeeper();
  });
  afterAll(() => server.stop());

  async function open(namespace: string, ...taps: readonly { listen(socket: Socket): void }[]) {
    const endpoint = new URL(server.url).host;
    return openZookeeper({
      endpoints: [endpoint],
      namespace,
      connect: ({ host, port }) =>
        new Promise((resolve, reject) => {
          const socket = connect({ host, port, noDelay: true });
          for (const tap of taps) tap.listen(socket);
          socket.unref();
          socket.once('connect', () => resolve(socket)).once('error', reject);
        }),
    });
  }

  it.each([2, 40])('costs two requests with %i candidates: one read, one claim', async (count) => {
    const namespace = uniqueNamespace();
    const [requests, passwords] = [new ZookeeperRequests(), new Passwords()];
    await using leading = await open(namespace, passwords);
    await using waiting = await open(namespace, requests);
    await using leader = new Member(leading, { memberId: 'leader', ttlMs: 10_000 });
    const first = await leader.election('controller').campaign();
    let counted: Readonly<Record<number, number>> | undefined;
    const silent = (): void => {};
    // At once: what the new leader does then is no part of the failover.
    const info = (_fields: object, message: string): void => {
      if (message === 'elected') counted ??= requests.sent;
    };
    const logger = { debug: silent, info, warn: silent, error: silent };
    const members = Array.from({ length: count }, (_, i) => new Member(waiting, { memberId: `m${i}`, ttlMs: 10_000, logger }));
    const elected: Leadership[] = [];
    const caller = new AbortController();
    for (const member of members) {
      const joined = (await leader.election('controller').candidates()).length;
      member
        .election('controller')
        .campaign({ signal: caller.signal })
        .then(
          (leadership) => {
            elected.push(leadership);
            // At once: what the new leader does then is no part of the failover.
            counted ??= requests.sent;
          },
          () => {},
        );
      await until(async () => (await leader.election('controller').candidates()).length > joined || undefined, {
        what: 'it has joined',
        withinMs: WITHIN_MS,
      });
    }
    const quiet = requests.total;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(requests.total).toBe(quiet);
    requests.reset();
    const [entry] = await leading.list('members', { timeoutMs: 5_000 });
    const lease = (await leading.read('members/leader', { timeoutMs: 5_000 }))?.lease ?? '';
    expect(entry).toBeDefined();
    await endSession(
      {
        clock: systemClock,
        random: systemRandom,
        endpoints: [{ host: new URL(server.url).hostname, port: Number(new URL(server.url).port) }],
        connect: (endpoint, signal) => connectSocket(endpoint, {}, signal),
        connectTimeoutMs: 2_000,
        handshakeTimeoutMs: 2_000,
        answers: new SharedAllowance(),
        timeoutMs: 6_000,
      },
      passwords.identity(lease),
      { timeoutMs: 5_000 },
    );
    await until(() => elected[0], { what: 'somebody is elected', withinMs: WITHIN_MS });
    expect(first.isValid()).toBe(false);
    // One read, of the term, which follows the word that the entry has gone and needs no barrier;
    // and a multi for the claim.
    expect(counted).toEqual({ 4: 1, 14: 1 });
    caller.abort(new Error('enough'));
    await Promise.all(members.map((member) => member.close()));
  });

  describe('the first of a queue', () => {
    const call = { timeoutMs: 5_000 };
    const value = new TextEncoder().encode('value');

    async function queue(store: Awaited<ReturnType<typeof open>>, length: number) {
      const at = { monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() };
      const { id } = await store.grantLease(10_000, { ...call, at });
      return Promise.all(Array.from({ length }, (_, i) => store.enqueue('q', `e${i}`, value, id, call)));
    }

    it('are listed by one request for the names, however many there are', async () => {
      const sockets: Socket[] = [];
      await using store = await open(uniqueNamespace(), { listen: (socket) => sockets.push(socket) });
      const entries = (await queue(store, 300)).toSorted((a, b) => Number(a.order - b.order));
      const heardOf = async (part: ListOptions): Promise<number> => {
        const before = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
        expect(await store.list('q', part)).toHaveLength(part.first ?? entries.length);
        return sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0) - before;
      };
      const names = await heardOf({ ...call, values: false });
      expect(await heardOf({ ...call, first: 2 })).toBeLessThan(1.2 * names);
    });

    it('are those of one moment, while the first one leaves again and again', async () => {
      const namespace = uniqueNamespace();
      await using store = await open(namespace);
      await using other = await open(namespace);
      const keys = (await queue(store, 40)).toSorted((a, b) => Number(a.order - b.order)).map(({ key }) => key);
      for (const [at, key] of keys.entries()) {
        const [entry] = await other.list('q', { ...call, first: 1 });
        expect(entry?.key).toBe(key);
        const gone = { key, expect: entry?.revision ?? '', delete: true } as const;
        const [now, swap] = await Promise.all([store.list('q', { ...call, first: 3 }), other.compareAndSwap([gone], call)]);
        expect(swap.swapped).toBe(true);
        const from = now[0] === undefined ? keys.length : keys.indexOf(now[0].key);
        expect([at, at + 1]).toContain(from);
        expect(now.map((listed) => listed.key)).toEqual(keys.slice(from, from + 3));
      }
    });
  });
});
