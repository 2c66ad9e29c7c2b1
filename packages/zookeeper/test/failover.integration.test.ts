import { connect, type Socket } from 'node:net';

import { Member, systemClock, systemRandom, type Leadership } from '@incumbent/core';
import { requireStore, startZookeeper, uniqueNamespace, until, ZookeeperRequests, type ZookeeperServer } from '@incumbent/test-support';
import { connectSocket } from '@incumbent/network';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';
import { endSession } from '../src/wire/end-session.ts';
import { Passwords } from './passwords.ts';

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

  it.each([2, 40])('costs three requests with %i candidates: a barrier, one read, one claim', async (count) => {
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
    const giveUp = new AbortController();
    for (const member of members) {
      const joined = (await leader.election('controller').candidates()).length;
      member
        .election('controller')
        .campaign({ signal: giveUp.signal })
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
        timeoutMs: 6_000,
      },
      passwords.identity(lease),
      { timeoutMs: 5_000 },
    );
    await until(() => elected[0], { what: 'somebody is elected', withinMs: WITHIN_MS });
    expect(first.isValid()).toBe(false);
    // A multi for the barrier and one for the claim; one read, of the term. Those who wait hear that there is a new leader, and do not ask who.
    expect(counted).toEqual({ 4: 1, 14: 2 });
    giveUp.abort(new Error('enough'));
    await Promise.all(members.map((member) => member.close()));
  });
});
