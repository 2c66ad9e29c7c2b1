import { describe, expect, it } from 'vitest';

import type { Client } from '../../src/client/client.ts';
import { toStoreError } from '../../src/errors.ts';
import { FakeServers, hello } from '../fake-servers.ts';
import { CALL, endOf, ping, pongs, TWO } from './calls.ts';

describe('dialling', () => {
  it('tries one server after the other, uses the one that accepts writes, and begins with it the next time', async () => {
    const endpoints = ['one', 'two', 'three'].map((host, index) => ({ host, port: index + 1 }));
    const replicas = new Set(['two']);
    const servers: FakeServers = new FakeServers(([name]) => {
      if (name === 'HELLO') return hello({ role: replicas.has(servers.dialed.at(-1)?.split(':')[0] ?? '') ? 'replica' : 'master' });
      return '+PONG\r\n';
    });
    servers.refused.add('one:1');
    const client = servers.client({ endpoints });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    servers.peer.cut();
    await servers.clock.advance(1);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2', 'three:3', 'three:3']);
    client.close();
  });

  it('does not outlast the call, which was not sent', async () => {
    const servers = new FakeServers(pongs);
    const client = servers.client({ connect: () => new Promise(() => {}) });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNREACHABLE notSent');
    expect(servers.clock.monotonic()).toBe(500);
    client.close();
  });

  it('destroys a stream that opens too late', async () => {
    const servers = new FakeServers(pongs);
    const late = Promise.withResolvers<void>();
    const streams: ReturnType<typeof servers.connect>[] = [];
    const client = servers.client({
      connect: async (endpoint) => {
        await late.promise;
        const stream = servers.connect(endpoint);
        streams.push(stream);
        return stream;
      },
    });
    expect(await endOf(servers, client.call(ping, { timeoutMs: 2_000 }))).toBe('UNREACHABLE notSent');
    late.resolve();
    await servers.clock.advance(1);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true]);
    client.close();
  });

  it('passes over a server that fails the check, and checks every connection', async () => {
    const moved = new Set(['one:1']);
    const servers: FakeServers = new FakeServers(([name]) => {
      if (name === 'PING') return '+PONG\r\n';
      return name === 'CHECK' ? (moved.has(servers.dialed.at(-1) ?? '') ? '-MOVED 1 two:2\r\n' : '+OK\r\n') : undefined;
    });
    const client = servers.client({ ...TWO, check: (connection) => connection.request(['CHECK'], () => {}) });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    servers.peer.cut();
    await servers.clock.advance(0);
    moved.add('two:2');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    expect(servers.dialed).toHaveLength(4);
    client.close();
  });
});

describe('a server that does not answer', () => {
  /** The first connection answers HELLO, or not even that, and then nothing. */
  function silentServers(isSilentAtOnce = false): FakeServers {
    const servers: FakeServers = new FakeServers((request, peer) => {
      if (servers.peers.indexOf(peer) > 0) return pongs(request, peer);
      return request[0] === 'HELLO' && !isSilentAtOnce ? undefined : '';
    });
    return servers;
  }

  it('is dialled last after a call has timed out', async () => {
    const servers = silentServers();
    const client = servers.client({ ...TWO, dialTimeoutMs: 10_000 });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('TIMEOUT unknown');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    // The connection that was left ends later, and the client stays where it is.
    await servers.clock.advance(10_000);
    servers.peer.cut();
    await servers.clock.advance(0);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2', 'two:2']);
    client.close();
  });

  it('is dialled last after its silence has ended the connection', async () => {
    const servers = silentServers();
    const client = servers.client({ ...TWO, dialTimeoutMs: 10_000 });
    expect(await endOf(servers, client.call(ping, { timeoutMs: 60_000 }))).toBe('CONNECTION_LOST unknown');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    client.close();
  });

  it.each([1_000, 10_000])('to the greeting within %i ms is dialled last the next time', async (dialTimeoutMs) => {
    const servers = silentServers(true);
    const client = servers.client({ ...TWO, dialTimeoutMs });
    servers.refused.add('two:2');
    expect(await endOf(servers, client.call(ping, { timeoutMs: 60_000 }))).toBe('UNREACHABLE notSent');
    servers.refused.clear();
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2', 'two:2']);
    client.close();
  });
});

describe('a client that closes while it connects', () => {
  it('ends an attempt to connect', async () => {
    const servers = new FakeServers(pongs);
    const client = servers.client({ connect: () => new Promise(() => {}) });
    const call = endOf(servers, client.call(ping, CALL));
    client.close();
    expect(await call).toBe('STORE_CLOSED notSent');
    await servers.clock.advance(0);
    expect(servers.clock.timers).toBe(0);
  });

  it.each(Array.from({ length: 12 }, (_, turns) => turns))(
    '%i turns after a connection was greeted leaves no connection',
    async (turns) => {
      const servers = new FakeServers(() => undefined);
      const closeSoon = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        client.close();
      };
      const client: Client = servers.client({ check: async () => void closeSoon() });
      const end = client.connect().then(
        () => 'connected',
        (error: unknown) => toStoreError(error, 'call').code,
      );
      await servers.clock.advance(0);
      expect(['connected', 'STORE_CLOSED']).toContain(await end);
      expect(servers.peer.left).toBe(true);
    },
  );
});
