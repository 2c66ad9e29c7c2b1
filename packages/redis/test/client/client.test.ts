import { describe, expect, it } from 'vitest';

import type { Connection } from '../../src/client/connection.ts';
import { runScript, script } from '../../src/scripts/script.ts';
import { hello, push } from '../fake-servers.ts';
import { KEYSPACE } from '../watch-scene.ts';
import { CALL, endOf, ping, pongs, serving, start, TWO } from './calls.ts';

describe('a call', () => {
  it('gets the answer to its own request, whatever is pushed between', async () => {
    const { servers, client } = serving(([name, what = ''], peer) => {
      if (name === 'ECHO') peer.say(push('message', 'c', 'news'));
      return name === 'ECHO' ? `+${what}\r\n` : undefined;
    });
    const echo = (word: string) => (connection: Connection) => connection.request(['ECHO', word], (reply) => reply);
    const words = ['a', 'b', 'c'];
    expect(await endOf(servers, Promise.all(words.map((word) => client.call(echo(word), CALL))))).toEqual(words);
    expect(servers.pushed).toHaveLength(3);
    client.close();
  });

  it('that has timed out does not give its late answer to the next call', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''));
    const echo = (word: string) => (connection: Connection) => connection.request(['ECHO', word], (reply) => reply);
    const slow = client.call(echo('slow'), CALL);
    slow.catch(() => {});
    await servers.clock.advance(100);
    servers.peer.say(push('message', 'c', 'news'));
    expect(await endOf(servers, slow)).toBe('TIMEOUT unknown');
    const next = client.call(echo('next'), CALL);
    await servers.clock.advance(0);
    servers.peer.say('+slow\r\n+next\r\n');
    expect(await endOf(servers, next)).toBe('next');
    expect(servers.peers).toHaveLength(1);
    client.close();
  });

  it('that times out on a silent connection makes the next calls use another; the former one may still answer', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' || servers.peers.length > 1 ? undefined : ''));
    const slow = client.call((connection) => connection.request(['SLOW'], (reply) => reply), { timeoutMs: 1_500 });
    const calls = [slow, client.call(ping, CALL)];
    for (const call of calls) call.catch(() => {});
    await servers.clock.advance(500);
    const [first] = servers.peers;
    expect(first?.left).toBe(false);
    client.call(ping, CALL).catch(() => {});
    await servers.clock.advance(0);
    expect(servers.peers).toHaveLength(2);
    first?.say('+at last\r\n+PONG\r\n');
    expect(await endOf(servers, slow)).toBe('at last');
    expect(first?.left).toBe(true);
    client.close();
    await servers.clock.advance(0);
    expect(servers.clock.timers).toBe(0);
  });

  it('is unknown as soon as its connection ends, and the next call opens another', async () => {
    let isFirst = true;
    const { servers, client } = serving(([name], peer) => {
      if (name === 'HELLO') return undefined;
      if (isFirst) peer.cut();
      isFirst = false;
      return '+PONG\r\n';
    });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('CONNECTION_LOST unknown');
    expect(servers.clock.monotonic()).toBe(0);
    expect(servers.peer.commands).toEqual(['PING']);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    client.close();
  });

  it('is unknown after 2 s of silence, which end the connection', async () => {
    const { servers, client } = serving(([name]) => (name === 'PING' ? undefined : hello()));
    expect(await endOf(servers, client.call(ping, { timeoutMs: 60_000 }))).toBe('CONNECTION_LOST unknown');
    expect(servers.clock.monotonic()).toBe(2_050);
    client.close();
  });

  it('moves to another connection if messages of the server arrive for 5 s, and no answer', async () => {
    const { servers, client } = serving((request, peer) => {
      if (peer !== servers.peers[0]) return pongs(request, peer);
      return request[0] === 'HELLO' ? undefined : '';
    });
    for (let seconds = 0; seconds < 10; seconds += 1) {
      void start(client);
      await servers.clock.advance(100);
      servers.peers[0]?.say(push('message', 'c', 'news'));
      await servers.clock.advance(900);
    }
    expect([servers.peers.length, servers.peers[0]?.left]).toEqual([2, true]);
    client.close();
  });

  it('sends the text of a script whose digest the server does not know: the first request did nothing', async () => {
    const known = script({ body: 'return 1' });
    const { servers, client } = serving(([name]) => {
      if (name === 'EVALSHA') return '-NOSCRIPT No matching script. Please use EVAL.\r\n';
      return name === 'EVAL' ? ':1\r\n' : undefined;
    });
    expect(
      await endOf(
        servers,
        client.call((connection) => runScript(connection, known, KEYSPACE, ['a'], (reply) => reply), CALL),
      ),
    ).toBe(1);
    expect(servers.peer.commands).toEqual(['EVALSHA', 'EVAL']);
    expect(servers.peer.requests.at(-1)).toEqual(['EVAL', known.text, '1', '{ns}', 'changes', 'a']);
    client.close();
  });

  it('that has ended sends nothing more when the server does not know its digest', async () => {
    const known = script({ body: 'return 1' });
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''));
    const call = client.call((connection, over) => runScript(connection, known, KEYSPACE, ['a'], (reply) => reply, over), CALL);
    call.catch(() => {});
    await servers.clock.advance(100);
    // The connection is not silent, so it stays.
    servers.peer.say(push('message', 'c', 'news'));
    await servers.clock.advance(400);
    servers.peer.say('-NOSCRIPT No matching script.\r\n');
    await servers.clock.advance(10);
    expect(await endOf(servers, call)).toBe('TIMEOUT unknown');
    expect(servers.peer.commands).toEqual(['EVALSHA']);
    client.close();
  });

  it.each<[string, string]>([
    ['READONLY', 'UNAVAILABLE notSent'],
    ['MOVED', 'UNAVAILABLE notSent'],
    ['ASK', 'UNAVAILABLE notSent'],
    ['MASTERDOWN', 'UNAVAILABLE notSent'],
    ['CLUSTERDOWN', 'UNAVAILABLE notSent'],
    ['LOADING', 'UNAVAILABLE notSent'],
    ['NOREPLICAS', 'UNAVAILABLE refused'],
    ['MISCONF', 'UNAVAILABLE refused'],
  ])('that is answered %s did nothing, and the next call goes to another server', async (code, expected) => {
    const { servers, client } = serving(([name]) => {
      if (name === 'HELLO') return undefined;
      return servers.dialed.at(-1) === 'one:1' ? `-${code} elsewhere\r\n` : '+PONG\r\n';
    }, TWO);
    expect(await endOf(servers, client.call(ping, CALL))).toBe(expected);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    expect(servers.peers.map(({ commands }) => commands)).toEqual([['PING'], ['PING']]);
    client.close();
  });

  it('that is answered NOREPLICAS together with others skips no server', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : servers.peers.length > 1 ? '+PONG\r\n' : ''), TWO);
    const calls = Array.from({ length: 4 }, () => start(client));
    await servers.clock.advance(100);
    servers.peer.say('-NOREPLICAS words\r\n'.repeat(4));
    for (const call of calls) expect(await endOf(servers, call)).toBe('UNAVAILABLE refused');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    client.close();
  });

  it('in flight gets its own answer after another call is answered NOREPLICAS', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''), TWO);
    const calls = Array.from({ length: 2 }, () => start(client));
    await servers.clock.advance(100);
    const old = servers.peer;
    old.say('-NOREPLICAS words\r\n');
    await servers.clock.advance(100);
    old.say('+PONG\r\n');
    const ends = [];
    for (const call of calls) ends.push(await endOf(servers, call));
    expect(ends).toEqual(['UNAVAILABLE refused', 'PONG']);
    expect(old.left).toBe(true);
    expect(old.commands).toEqual(['PING', 'PING']);
    client.close();
  });

  it('that meets a full memory, another script or a moving slot leaves the connection as it is', async () => {
    for (const code of ['OOM', 'BUSY', 'TRYAGAIN']) {
      const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : `-${code} words\r\n`), TWO);
      await endOf(servers, client.call(ping, CALL));
      await endOf(servers, client.call(ping, CALL));
      expect(servers.dialed).toEqual(['one:1']);
      client.close();
    }
  });

  it('rejects with the reason of its signal', async () => {
    const { client } = serving(() => undefined);
    const stop = new AbortController();
    const call = client.call(ping, { ...CALL, signal: stop.signal });
    stop.abort('enough');
    await expect(call).rejects.toBe('enough');
    client.close();
  });

  it('keeps the process alive until it ends, unless it is a background call', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : undefined));
    client.call(ping, CALL).catch(() => {});
    client.call(ping, { ...CALL, background: true }).catch(() => {});
    expect(servers.clock.holds).toBe(1);
    await servers.clock.advance(500);
    expect(servers.clock.holds).toBe(0);
    client.close();
  });
});

describe('close', () => {
  it('ends calls in flight, the connection and every timer, and rejects later calls', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? hello() : undefined));
    const call = client.call(ping, CALL);
    call.catch(() => {});
    await servers.clock.advance(0);
    client.close();
    expect(await endOf(servers, call)).toBe('STORE_CLOSED unknown');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('STORE_CLOSED notSent');
    expect(servers.peer.left).toBe(true);
    expect([servers.clock.timers, servers.clock.holds]).toEqual([0, 0]);
  });
});
