import type { Endpoint } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { listedServers, movedTo, type StartingPoint } from '../../src/client/servers.ts';
import { FakeServers, hello, type Answer } from '../fake-servers.ts';
import { CALL, endOf, ping, pongs, TWO } from './calls.ts';

const one = { host: 'one', port: 1 };
const named = (port: number): Endpoint => ({ host: 'one', port });

async function orderOf(start: StartingPoint | undefined): Promise<readonly number[]> {
  const ports: number[] = [];
  for await (const { port } of listedServers([named(1), named(2), named(3)]).find(start, new AbortController().signal)) ports.push(port);
  return ports;
}

describe('the servers of a list', () => {
  it.each<readonly [string, StartingPoint | undefined, readonly number[]]>([
    ['nothing has served yet', undefined, [1, 2, 3]],
    ['the second one served last', { at: named(2) }, [2, 3, 1, 2]],
    ['the last one refused a request', { after: named(3) }, [1, 2, 3]],
    ['a server that is not in the list was named', { at: named(9) }, [9, 1, 2, 3]],
    ['a server that is not in the list refused', { after: named(9) }, [1, 2, 3, 9]],
  ])('are dialled in this order if %s', async (_, start, order) => {
    expect(await orderOf(start)).toEqual(order);
  });
});

describe('MOVED', () => {
  it.each([
    ['MOVED 3999 10.0.0.7:6381', { host: '10.0.0.7', port: 6381 }],
    ['MOVED 3999 node-2.internal:6381', { host: 'node-2.internal', port: 6381 }],
    ['MOVED 3999 ::1:6381', { host: '::1', port: 6381 }],
    ['MOVED 3999 :6381', { host: 'one', port: 6381 }],
    ['MOVED 3999 ?:6381', undefined],
    ['MOVED 3999 10.0.0.7:0', undefined],
    ['MOVED 3999 10.0.0.7:70000', undefined],
    ['ASK 3999 10.0.0.7:6381', undefined],
  ])('"%s" names a server: %j', (text, endpoint) => {
    expect(movedTo(text, one)).toEqual(endpoint);
  });

  /** Server n answers PING with the text of n. */
  const redirecting =
    (servers: () => FakeServers, answers: Readonly<Record<string, string>>): Answer =>
    ([name], peer) => {
      const dialed = servers().dialed[servers().peers.indexOf(peer)] ?? '';
      return name === 'CHECK' ? (answers[dialed] ?? '+OK\r\n') : pongs([name ?? ''], peer);
    };

  const following = (answers: Readonly<Record<string, string>>, options: Parameters<FakeServers['client']>[0] = {}) => {
    const servers: FakeServers = new FakeServers(redirecting(() => servers, answers));
    const client = servers.client({ check: (connection) => connection.request(['CHECK'], () => {}), ...options });
    return { servers, client };
  };

  it('is followed to a server that is not in the list, which the client dials first the next time', async () => {
    const { servers, client } = following({ 'one:1': '-MOVED 1 far:9\r\n' });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'far:9']);
    servers.peer.cut();
    await servers.clock.advance(1);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'far:9', 'far:9']);
    client.close();
  });

  it('leads to a server that is used again after a silence, although the listed server is gone', async () => {
    let isSilent = false;
    const servers: FakeServers = new FakeServers((request, peer) => {
      if (isSilent) return '';
      if (request[0] !== 'CHECK') return pongs(request, peer);
      return servers.dialed.at(-1) === 'one:1' ? '-MOVED 1 far:9\r\n' : '+OK\r\n';
    });
    const client = servers.client({ check: (connection) => connection.request(['CHECK'], () => {}) });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    servers.refused.add('one:1');
    isSilent = true;
    expect(await endOf(servers, client.call(ping, CALL))).toBe('TIMEOUT unknown');
    isSilent = false;
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'far:9', 'one:1', 'far:9']);
    client.close();
  });

  it('is followed from a replica of a cluster, which names its primary', async () => {
    const answerOf = redirecting(() => servers, { 'one:1': '-MOVED 1 two:2\r\n' });
    const servers: FakeServers = new FakeServers((request, peer) => {
      if (request[0] === 'HELLO' && servers.dialed.at(-1) === 'one:1') return hello({ role: 'replica', mode: 'cluster' });
      return answerOf(request, peer);
    });
    const client = servers.client({ check: (connection) => connection.request(['CHECK'], () => {}) });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    client.close();
  });

  it('ends with an error if servers redirect to one another, and dials each once', async () => {
    const { servers, client } = following({ 'one:1': '-MOVED 1 two:2\r\n', 'two:2': '-MOVED 1 one:1\r\n' }, TWO);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    client.close();
  });

  it('is followed five times at most while the client connects', async () => {
    const hops = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`one:${i + 1}`, `-MOVED 1 one:${i + 2}\r\n`]));
    const { servers, client } = following(hops);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    expect(servers.dialed).toHaveLength(6);
    client.close();
  });

  it('in the answer to a request makes the client dial that server for the next request', async () => {
    const servers: FakeServers = new FakeServers(([name], peer) => {
      if (name === 'PING') return servers.dialed[servers.peers.indexOf(peer)] === 'one:1' ? '-MOVED 1 far:9\r\n' : '+PONG\r\n';
      return undefined;
    });
    const client = servers.client(TWO);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'far:9']);
    client.close();
  });

  it('is not followed if the answer is ASK: keys that have not moved yet would be absent there', async () => {
    const { servers, client } = following({ 'one:1': '-ASK 1 far:9\r\n' });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    expect(servers.dialed).toEqual(['one:1']);
    client.close();
  });
});
