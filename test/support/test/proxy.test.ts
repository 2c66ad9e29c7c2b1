import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { startProxy, until, type Proxy } from '../src/index.ts';
import { EchoClient, EchoServer } from './echo.ts';

/** Long enough for loopback to carry what it will ever carry. */
const QUIET_MS = 60;

let server: EchoServer;
let proxy: Proxy;
let clients: EchoClient[];

beforeEach(async () => {
  server = await EchoServer.start();
  proxy = await startProxy({ host: '127.0.0.1', port: server.port });
  clients = [];
});

afterEach(async () => {
  for (const made of clients) made.close();
  await proxy.close();
  await server[Symbol.asyncDispose]();
});

function client(): EchoClient {
  const made = new EchoClient(proxy.port);
  clients.push(made);
  return made;
}

/** A client that has already had an answer. */
async function greeted(): Promise<EchoClient> {
  const made = client();
  made.send('hello;');
  await receives(made, 'hello;');
  return made;
}

function receives(of: EchoClient, text: string): Promise<boolean> {
  return until(() => of.received === text, { what: `${text}, not ${of.received}`, withinMs: 2_000, everyMs: 2 });
}

function serverGets(text: string): Promise<boolean> {
  return until(() => server.received === text, { what: `${text} at the server`, withinMs: 2_000, everyMs: 2 });
}

function endsAs(of: EchoClient, state: string): Promise<boolean> {
  return until(() => of.state === state, { what: `a client in the state ${state}, not ${of.state}`, withinMs: 2_000, everyMs: 2 });
}

describe('a proxy without faults', () => {
  test('carries bytes both ways, and counts them and the connections', async () => {
    const first = await greeted();
    await greeted();
    expect(proxy.stats()).toEqual({
      connections: { opened: 2, open: 2 },
      requests: { passed: 12, dropped: 0 },
      replies: { passed: 12, dropped: 0 },
    });
    first.close();
    await until(() => proxy.stats().connections.open === 1, { what: 'a connection less', withinMs: 2_000 });
    expect(proxy.stats().requests.passed).toBe(12);
  });

  test('carries more than any buffer holds, unchanged', async () => {
    const text = Array.from({ length: 400_000 }, (_, line) => `${line}\n`).join('');
    const one = client();
    one.send(text);
    await until(() => one.received.length === text.length, { what: 'all of it', withinMs: 10_000 });
    expect(one.received === text).toBe(true);
  });

  test('hands on that one side sends no more, and still carries what the other sends', async () => {
    const one = client();
    one.send('last;');
    one.end();
    await endsAs(one, 'ended');
    expect(one.received).toBe('last;');
  });

  test('hands on that the server reset the connection', async () => {
    const one = await greeted();
    server.resetAll();
    await endsAs(one, 'ECONNRESET');
  });

  test('has the URL of its target with its own port', async () => {
    await using other = await startProxy('https://127.0.0.1:4711');
    expect(other.url).toBe(`https://127.0.0.1:${other.port}`);
  });

  test('resets a client where its target refuses', async () => {
    await server[Symbol.asyncDispose]();
    await endsAs(client(), 'ECONNRESET');
    server = await EchoServer.start();
  });

  test('once closed, it has ended its connections and refuses new ones; closing again does nothing', async () => {
    const one = await greeted();
    await proxy.close();
    await proxy.close();
    await endsAs(one, 'ECONNRESET');
    await endsAs(client(), 'ECONNREFUSED');
    expect(proxy.stats().connections.open).toBe(0);
  });
});

describe('closing', () => {
  test('does not wait for a connection that is just being ended by its client', async () => {
    for (let round = 0; round < 40; round += 1) {
      await using other = await startProxy(server.port);
      const one = new EchoClient(other.port);
      one.send('a;');
      await until(() => one.received === 'a;', { what: 'an echo', withinMs: 2_000, everyMs: 1 });
      one.end();
      // Each round meets the connection a little later on its way out.
      const end = performance.now() + round / 20;
      await until(() => performance.now() >= end, { what: 'the time', withinMs: 1_000, everyMs: 0 });
      await other.close();
      expect(other.stats().connections.open).toBe(0);
      one.close();
    }
  });

  test('does not wait for who does not read', async () => {
    const one = await greeted();
    one.stopReading();
    one.send('x'.repeat(30_000_000));
    await until(() => proxy.stats().replies.passed > 1_000_000, { what: 'a full connection', withinMs: 5_000 });
    const start = performance.now();
    await proxy.close();
    expect(performance.now() - start).toBeLessThan(4_000);
  });
});

describe('latency', () => {
  test('holds every byte back for its time each way, in order', async () => {
    proxy.latency(80);
    const one = client();
    const start = performance.now();
    one.send('a;');
    await sleep(20);
    one.send('b;');
    await receives(one, 'a;b;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(160);
  });

  test('of replies alone leaves requests as quick as they are', async () => {
    const one = await greeted();
    proxy.latency(1_000, { direction: 'replies' });
    const start = performance.now();
    one.send('a;');
    await serverGets('hello;a;');
    expect(performance.now() - start).toBeLessThan(1_000);
    expect(one.received).toBe('hello;');
    await receives(one, 'hello;a;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(1_000);
  });

  test('changed, leaves what is under way its time', async () => {
    const one = await greeted();
    proxy.latency(100, { direction: 'requests' });
    one.send('a;');
    await sleep(20);
    proxy.latency(60_000, { direction: 'requests' });
    await expect(serverGets('hello;a;')).resolves.toBe(true);
  });

  test('healed, delivers at once what was under way, and nothing is reset', async () => {
    const one = await greeted();
    proxy.latency(60_000);
    one.send('a;');
    await sleep(QUIET_MS);
    await proxy.heal();
    await receives(one, 'hello;a;');
    expect(one.state).toBe('open');
  });
});

describe('dropped replies', () => {
  test('the server gets the request, the client no answer, and the connection stays open', async () => {
    const one = await greeted();
    proxy.dropReplies();
    one.send('applied;');
    await serverGets('hello;applied;');
    await sleep(QUIET_MS);
    expect(one.received).toBe('hello;');
    expect(one.state).toBe('open');
    expect(proxy.stats().replies.dropped).toBe('applied;'.length);
  });

  test('healing resets the connection that lost something, and only that one', async () => {
    const harmed = await greeted();
    const idle = await greeted();
    proxy.dropReplies();
    harmed.send('a;');
    await until(() => proxy.stats().replies.dropped > 0, { what: 'a dropped reply', withinMs: 2_000 });
    await proxy.heal();
    await endsAs(harmed, 'ECONNRESET');
    idle.send('b;');
    await receives(idle, 'hello;b;');
    await greeted();
  });

  test('healing without a reset leaves it open', async () => {
    const one = await greeted();
    proxy.dropReplies();
    one.send('lost;');
    await until(() => proxy.stats().replies.dropped > 0, { what: 'a dropped reply', withinMs: 2_000 });
    await proxy.heal({ reset: false });
    one.send('b;');
    await receives(one, 'hello;b;');
  });

  test('for new connections alone spares those that are there', async () => {
    const old = await greeted();
    proxy.dropReplies({ scope: 'new' });
    const young = client();
    young.send('young;');
    old.send('old;');
    await receives(old, 'hello;old;');
    await until(() => proxy.stats().replies.dropped === 'young;'.length, { what: 'a dropped reply', withinMs: 2_000 });
    expect(young.received).toBe('');
  });
});

describe('dropped requests', () => {
  test('the server gets nothing, and the connection stays open', async () => {
    const one = await greeted();
    proxy.dropRequests();
    one.send('lost;');
    await until(() => proxy.stats().requests.dropped === 'lost;'.length, { what: 'a dropped request', withinMs: 2_000 });
    await sleep(QUIET_MS);
    expect(server.received).toBe('hello;');
    expect(one.state).toBe('open');
  });
});

describe('a black hole', () => {
  test('swallows both ways, on connections that are there and on new ones, which are accepted', async () => {
    const old = await greeted();
    proxy.blackhole();
    const young = client();
    old.send('a;');
    young.send('b;');
    await until(() => proxy.stats().requests.dropped === 4, { what: 'two dropped requests', withinMs: 2_000 });
    await sleep(QUIET_MS);
    expect(server.received).toBe('hello;');
    expect([old.state, young.state, young.received]).toEqual(['open', 'open', '']);
  });

  test('hides that the server went away, and healing tells of it', async () => {
    const one = await greeted();
    proxy.blackhole();
    server.resetAll();
    await sleep(QUIET_MS);
    expect(one.state).toBe('open');
    await proxy.heal({ reset: false });
    await endsAs(one, 'ECONNRESET');
  });

  test('healed, it serves on the same port', async () => {
    const one = await greeted();
    proxy.blackhole();
    one.send('a;');
    await until(() => proxy.stats().requests.dropped > 0, { what: 'a dropped request', withinMs: 2_000 });
    await proxy.heal();
    await endsAs(one, 'ECONNRESET');
    await greeted();
  });
});

describe('a stall', () => {
  test('holds everything and then delivers all of it, in order, on the same connection', async () => {
    const one = await greeted();
    const start = performance.now();
    proxy.stall(200);
    one.send('a;');
    await sleep(30);
    one.send('b;');
    await sleep(30);
    expect(server.received).toBe('hello;');
    await receives(one, 'hello;a;b;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(199);
    expect(proxy.stats().requests.dropped).toBe(0);
  });

  test('without an end lasts until healed, and healing resets nothing', async () => {
    const one = await greeted();
    proxy.stall();
    one.send('a;');
    await sleep(QUIET_MS);
    expect(server.received).toBe('hello;');
    await proxy.heal();
    await receives(one, 'hello;a;');
    expect(one.state).toBe('open');
  });

  test('holds what latency had under way, too', async () => {
    const one = await greeted();
    proxy.latency(50);
    one.send('a;');
    await sleep(20);
    proxy.stall();
    await sleep(100);
    expect(server.received).toBe('hello;');
    await proxy.heal();
    await receives(one, 'hello;a;');
  });

  test('of replies alone lets requests through', async () => {
    const one = await greeted();
    proxy.stall(undefined, { direction: 'replies' });
    one.send('a;');
    await serverGets('hello;a;');
    await sleep(QUIET_MS);
    expect(one.received).toBe('hello;');
  });
});

describe('a reset', () => {
  test('ends all connections at once, and new ones are served', async () => {
    const one = await greeted();
    proxy.reset();
    await endsAs(one, 'ECONNRESET');
    await greeted();
  });
});

describe('refusal', () => {
  test('healing waits for a port that somebody else has for a moment', async () => {
    proxy.refuse();
    const other = createServer();
    await until(
      () => new Promise((resolve) => other.once('error', () => resolve(false)).listen(proxy.port, '127.0.0.1', () => resolve(true))),
      {
        what: 'the port',
        withinMs: 1_000,
      },
    );
    setTimeout(() => other.close(), 100);
    await proxy.heal();
    await greeted();
  });

  test('new connections are refused, those that are there live on, and healing opens the same port', async () => {
    const old = await greeted();
    const { port } = proxy;
    proxy.refuse();
    await endsAs(client(), 'ECONNREFUSED');
    old.send('a;');
    await receives(old, 'hello;a;');
    await proxy.heal();
    expect(proxy.port).toBe(port);
    await greeted();
  });
});

describe('a dropped next reply', () => {
  test('the request is served, its answer swallowed, and the connection reset; only once', async () => {
    const one = await greeted();
    const sprung = proxy.dropNextReply({ resetAfterMs: 20 });
    one.send('applied;');
    await expect(sprung).resolves.toBe(true);
    await endsAs(one, 'ECONNRESET');
    expect(server.received).toBe('hello;applied;');
    expect(one.received).toBe('hello;');
    await greeted();
  });

  test('waits for as many bytes of a request as it was asked to', async () => {
    const one = await greeted();
    const sprung = proxy.dropNextReply({ afterRequestBytes: 10 });
    one.send('ping;');
    await receives(one, 'hello;ping;');
    one.send('request;');
    await expect(sprung).resolves.toBe(true);
    expect(one.received).toBe('hello;ping;');
    expect(server.received).toBe('hello;ping;request;');
  });

  test('catches one connection and leaves the others alone', async () => {
    const caught = await greeted();
    const other = await greeted();
    const sprung = proxy.dropNextReply({ resetAfterMs: 300 });
    caught.send('a;');
    await serverGets('hello;hello;a;');
    other.send('b;');
    await receives(other, 'hello;b;');
    expect(caught.state).toBe('open');
    await sprung;
    await endsAs(caught, 'ECONNRESET');
  });

  test('is given up when healed', async () => {
    const one = await greeted();
    const sprung = proxy.dropNextReply();
    await proxy.heal();
    await expect(sprung).resolves.toBe(false);
    one.send('a;');
    await receives(one, 'hello;a;');
  });
});
