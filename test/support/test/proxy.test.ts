/** What a proxy carries, and whom it serves. */

import { createServer } from 'node:net';

import { describe, expect, test } from 'vitest';

import { startProxy, until } from '../src/index.ts';
import { EchoClient } from './echo.ts';
import { endsAs, receives, useEcho } from './proxied.ts';

const echo = useEcho();

describe('a proxy without faults', () => {
  test('carries bytes both ways, and counts them and the connections', async () => {
    const first = await echo().greeted();
    await echo().greeted();
    expect(echo().proxy.stats()).toEqual({
      connections: { opened: 2, open: 2 },
      requests: { passed: 12, dropped: 0 },
      replies: { passed: 12, dropped: 0 },
    });
    first.close();
    await until(() => echo().proxy.stats().connections.open === 1, { what: 'a connection less' });
    expect(echo().proxy.stats().requests.passed).toBe(12);
  });

  test('carries more than any buffer holds, unchanged', async () => {
    const text = Array.from({ length: 400_000 }, (_, line) => `${line}\n`).join('');
    const one = echo().client();
    one.send(text);
    await until(() => one.received.length === text.length, { what: 'all of it', withinMs: 10_000 });
    expect(one.received === text).toBe(true);
  });

  test('hands on that one side sends no more, and still carries what the other sends', async () => {
    const one = echo().client();
    one.send('last;');
    one.end();
    await endsAs(one, 'ended');
    expect(one.received).toBe('last;');
  });

  test('hands on that the server reset the connection', async () => {
    const one = await echo().greeted();
    echo().server.resetAll();
    await endsAs(one, 'ECONNRESET');
  });

  test('has the URL of its target with its own port', async () => {
    await using other = await startProxy('https://127.0.0.1:4711');
    expect(other.url).toBe(`https://127.0.0.1:${other.port}`);
  });

  test('resets a client where its target refuses', async () => {
    await echo().server[Symbol.asyncDispose]();
    await endsAs(echo().client(), 'ECONNRESET');
  });

  test('once closed, it has ended its connections and refuses new ones; closing again does nothing', async () => {
    const one = await echo().greeted();
    await echo().proxy.close();
    await echo().proxy.close();
    await endsAs(one, 'ECONNRESET');
    await endsAs(echo().client(), 'ECONNREFUSED');
    expect(echo().proxy.stats().connections.open).toBe(0);
  });
});

describe('closing', () => {
  test('does not wait for a connection that is just being ended by its client', async () => {
    for (let round = 0; round < 40; round += 1) {
      await using other = await startProxy(echo().server.port);
      const one = new EchoClient(other.port);
      one.send('a;');
      await until(() => one.received === 'a;', { what: 'an echo', everyMs: 1 });
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
    const one = await echo().greeted();
    one.stopReading();
    one.send('x'.repeat(30_000_000));
    await until(() => echo().proxy.stats().replies.passed > 1_000_000, { what: 'a full connection' });
    const start = performance.now();
    await echo().proxy.close();
    expect(performance.now() - start).toBeLessThan(4_000);
  });
});

describe('a reset', () => {
  test('ends all connections at once, and new ones are served', async () => {
    const one = await echo().greeted();
    echo().proxy.reset();
    await endsAs(one, 'ECONNRESET');
    await echo().greeted();
  });
});

describe('refusal', () => {
  test('healing waits for a port that somebody else has for a moment', async () => {
    echo().proxy.refuse();
    const other = createServer();
    await until(
      () => new Promise((resolve) => other.once('error', () => resolve(false)).listen(echo().proxy.port, '127.0.0.1', () => resolve(true))),
      {
        what: 'the port',
      },
    );
    setTimeout(() => other.close(), 100);
    await echo().proxy.heal();
    await echo().greeted();
  });

  test('new connections are refused, those that are there live on, and healing opens the same port', async () => {
    const old = await echo().greeted();
    const { port } = echo().proxy;
    echo().proxy.refuse();
    await endsAs(echo().client(), 'ECONNREFUSED');
    old.send('a;');
    await receives(old, 'hello;a;');
    await echo().proxy.heal();
    expect(echo().proxy.port).toBe(port);
    await echo().greeted();
  });
});
