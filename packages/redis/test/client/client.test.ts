import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { run, script } from '../../src/scripts/script.ts';
import type { Client } from '../../src/client/client.ts';
import type { Connection } from '../../src/client/connection.ts';
import { FakeServers, hello, OK, push, type Answer } from '../fake-servers.ts';

const CALL = { timeoutMs: 500 };

const TWO = {
  endpoints: [
    { host: 'one', port: 1 },
    { host: 'two', port: 2 },
  ],
};

const ping = (connection: Connection): Promise<unknown> => connection.request(['PING']);

/** How a call ends: what it answers, or the code and the outcome of its error. */
async function endOf(servers: FakeServers, call: Promise<unknown>): Promise<unknown> {
  const ended = call.then(
    (answer) => answer,
    (error: unknown) => {
      const { code, outcome } = toStoreError(error, 'call');
      return `${code} ${outcome}`;
    },
  );
  return servers.clock.run(ended);
}

/** Pings that are all on their way before the first is answered. */
function startAll(client: Client, count: number): readonly Promise<unknown>[] {
  return Array.from({ length: count }, () => {
    const call = client.call(ping, CALL);
    call.catch(() => {});
    return call;
  });
}

function serving(answer: Answer, options: Parameters<FakeServers['client']>[0] = {}): { servers: FakeServers; client: Client } {
  const servers = new FakeServers(answer);
  return { servers, client: servers.client(options) };
}

const pongs: Answer = ([name]) => (name === 'PING' ? '+PONG\r\n' : name === 'HELLO' ? hello() : OK);

describe('a connection', () => {
  it('is opened by the first call, with the protocol’s version, the user and the database, and kept', async () => {
    const { servers, client } = serving(pongs, { credentials: { username: 'alice', password: 'secret' }, db: 3 });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.peers).toHaveLength(1);
    expect(servers.peer.requests.slice(0, 2)).toEqual([
      ['HELLO', '3', 'AUTH', 'alice', 'secret', 'SETNAME', 'incumbent'],
      ['SELECT', '3'],
    ]);
    client.close();
  });

  it.each<[string, string | undefined, string]>([
    ['a wrong password', '-WRONGPASS invalid username-password pair or user is disabled.\r\n', 'UNAUTHENTICATED refused'],
    ['a password that is missing', '-NOAUTH HELLO must be called with the client already authenticated\r\n', 'UNAUTHENTICATED refused'],
    [
      'a password that nobody wants',
      '-ERR AUTH <password> called without any password configured for the default user.\r\n',
      'UNAUTHENTICATED refused',
    ],
    ['a server before 6', "-ERR unknown command 'HELLO'\r\n", 'UNSUPPORTED refused'],
    ['another protocol', '-NOPROTO unsupported protocol version\r\n', 'UNSUPPORTED refused'],
    ['a server before 7', hello({ version: '6.2.14' }), 'UNSUPPORTED refused'],
    ['a replica', hello({ role: 'replica' }), 'UNAVAILABLE notSent'],
    ['too many clients', '-ERR max number of clients reached\r\n', 'UNAVAILABLE notSent'],
    ['protected mode', '-DENIED Redis is running in protected mode\r\n', 'PERMISSION_DENIED refused'],
    ['a missing right', "-NOPERM this user has no permissions to run the 'hello' command\r\n", 'PERMISSION_DENIED refused'],
    ['what is no Redis', 'HTTP/1.1 400 Bad Request\r\n', 'UNSUPPORTED refused'],
    ['an answer that fits nothing', OK, 'UNSUPPORTED refused'],
  ])('is refused by %s, for what it is', async (_, said, expected) => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? said : undefined));
    expect(await endOf(servers, client.call(ping, CALL))).toBe(expected);
    expect(servers.peer.left).toBe(true);
    client.close();
  });

  it.each<[string, string, string]>([
    [
      'an unknown command',
      "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'alice' '$' 'SETNAME'",
      'UNSUPPORTED refused',
    ],
    ['an unknown command, in words of its own', 'UNKNOWN HELLO 3 AUTH alice $', 'STORE_FAILED unknown'],
    ['the number of arguments', "ERR wrong number of arguments for 'hello' command: AUTH alice $", 'UNSUPPORTED refused'],
    ['a syntax error', "ERR Syntax error in HELLO option '$'", 'UNSUPPORTED refused'],
    ['a password that nobody wants', 'ERR AUTH alice $ called without any password configured', 'UNAUTHENTICATED refused'],
    ['a wrong password', 'WRONGPASS alice $', 'UNAUTHENTICATED refused'],
    ['a missing right', 'NOPERM HELLO AUTH alice $', 'PERMISSION_DENIED refused'],
    ['the password alone', '$', 'STORE_FAILED unknown'],
    ['too many clients', 'ERR max number of clients reached, alice $', 'UNAVAILABLE notSent'],
    ['what it loads', 'LOADING $', 'UNAVAILABLE notSent'],
  ])('does not tell what a server answers to its greeting, which may have the password in it: %s', async (_, said, expected) => {
    const password = 'mKr7Qx2Zt9';
    for (const text of [said, said.replaceAll(' ', '\t')]) {
      const { servers, client } = serving(([name]) => (name === 'HELLO' ? `-${text.replace('$', password)}\r\n` : undefined), {
        credentials: { username: 'alice', password },
      });
      const failed = client.call(ping, CALL).catch((error: unknown) => toStoreError(error, 'open'));
      const error: unknown = await servers.clock.run(failed);
      const shown = [inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error), error instanceof Error ? error.stack : ''];
      expect(shown.join('')).not.toContain(password);
      expect(shown.join('')).not.toContain('alice');
      if (text === said) expect(error).toMatchObject({ code: expected.split(' ')[0], outcome: expected.split(' ')[1] });
      client.close();
    }
  });

  it.each([':mKr7Qx2Zt9', '*mKr7Qx2Zt9', '$mKr7Qx2Zt9'])('does not tell an answer that is no RESP: %s', async (said) => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? `${said}\r\n` : undefined));
    const error: unknown = await servers.clock.run(client.call(ping, CALL).catch((reason: unknown) => toStoreError(reason, 'open')));
    expect(error).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('mKr7Qx2Zt9');
    client.close();
  });

  it('with a database that there is not is refused', async () => {
    const { servers, client } = serving(([name]) => (name === 'SELECT' ? '-ERR DB index is out of range\r\n' : undefined), { db: 99 });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNSUPPORTED refused');
    client.close();
  });

  it('takes Valkey for what it is', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? hello({ server: 'valkey', version: '8.1.1' }) : '+PONG\r\n'));
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    client.close();
  });

  it('is looked for at one server after the other: the one that takes writes is used, and first the next time', async () => {
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

  it('that nobody accepts in time is not waited for beyond the call, which was not sent', async () => {
    const servers = new FakeServers(pongs);
    const client = servers.client({ connect: () => new Promise(() => {}) });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNREACHABLE notSent');
    expect(servers.clock.monotonic()).toBe(500);
    client.close();
  });

  it('that comes when nobody waits for it any more is destroyed', async () => {
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
});

describe('a call', () => {
  it('has the answer to its own request, whatever is said between', async () => {
    const { servers, client } = serving(([name, what = ''], peer) => {
      if (name === 'ECHO') peer.say(push('message', 'c', 'news'));
      return name === 'ECHO' ? `+${what}\r\n` : undefined;
    });
    const echo = (word: string) => (connection: Connection) => connection.request(['ECHO', word]);
    const words = ['a', 'b', 'c'];
    expect(await endOf(servers, Promise.all(words.map((word) => client.call(echo(word), CALL))))).toEqual(words);
    expect(servers.unasked).toHaveLength(3);
    client.close();
  });

  it('that is answered after its time gives its answer to nobody', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''));
    const echo = (word: string) => (connection: Connection) => connection.request(['ECHO', word]);
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

  it('that met silence is the last on its connection, which may still answer; the next ones go by another', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' || servers.peers.length > 1 ? undefined : ''));
    const slow = client.call((connection) => connection.request(['SLOW']), { timeoutMs: 1_500 });
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

  it('whose connection goes is unknown, at once, and the next one goes by another', async () => {
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

  it('on a link that is silent for 2 s is unknown, and the link given up', async () => {
    const { servers, client } = serving(([name]) => (name === 'PING' ? undefined : hello()));
    expect(await endOf(servers, client.call(ping, { timeoutMs: 60_000 }))).toBe('CONNECTION_LOST unknown');
    expect(servers.clock.monotonic()).toBe(2_050);
    client.close();
  });

  it('is sent again by its text where its digest is not known, for then it did nothing; and never otherwise', async () => {
    const known = script({ body: 'return 1' });
    const { servers, client } = serving(([name]) => {
      if (name === 'EVALSHA') return '-NOSCRIPT No matching script. Please use EVAL.\r\n';
      return name === 'EVAL' ? ':1\r\n' : undefined;
    });
    expect(
      await endOf(
        servers,
        client.call((connection) => run(connection, known, '{ns}', ['a']), CALL),
      ),
    ).toBe(1);
    expect(servers.peer.commands).toEqual(['EVALSHA', 'EVAL']);
    expect(servers.peer.requests.at(-1)).toEqual(['EVAL', known.text, '1', '{ns}', 'a']);
    client.close();
  });

  it('that is over by the time its digest is not known sends nothing more', async () => {
    const known = script({ body: 'return 1' });
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''));
    const call = client.call((connection, over) => run(connection, known, '{ns}', ['a'], over), CALL);
    call.catch(() => {});
    await servers.clock.advance(100);
    // Not silent: the connection stays.
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
  ])('that is answered %s did nothing, and the next is sent to another server', async (code, expected) => {
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
    const calls = startAll(client, 4);
    await servers.clock.advance(100);
    servers.peer.say('-NOREPLICAS words\r\n'.repeat(4));
    for (const call of calls) expect(await endOf(servers, call)).toBe('UNAVAILABLE refused');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    client.close();
  });

  it('that is under way when another is answered NOREPLICAS gets its own answer', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : ''), TWO);
    const calls = startAll(client, 2);
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

  it('that only a full memory, another script or a moving slot turns away leaves the connection as it is', async () => {
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

  it('holds the process until it ends, unless it is the store’s own', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? undefined : undefined));
    client.call(ping, CALL).catch(() => {});
    client.call(ping, { ...CALL, background: true }).catch(() => {});
    expect(servers.clock.holds).toBe(1);
    await servers.clock.advance(500);
    expect(servers.clock.holds).toBe(0);
    client.close();
  });
});

describe('closed', () => {
  it('it ends what is under way, the connection, and every timer; and does nothing more', async () => {
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

  it('while it connects, it ends that', async () => {
    const servers = new FakeServers(pongs);
    const client = servers.client({ connect: () => new Promise(() => {}) });
    const call = endOf(servers, client.call(ping, CALL));
    client.close();
    expect(await call).toBe('STORE_CLOSED notSent');
    await servers.clock.advance(0);
    expect(servers.clock.timers).toBe(0);
  });
});
