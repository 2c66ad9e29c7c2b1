/** A proxy that swallows things: what comes of it at both ends, and what healing resets. */

import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { until } from '../src/index.ts';
import { endsAs, QUIET_MS, receives, useEcho } from './proxied.ts';

const echo = useEcho();

/** Resolves when the proxy has dropped bytes in this direction. */
async function dropsSome(what: 'requests' | 'replies'): Promise<void> {
  await until(() => echo().proxy.stats()[what].dropped > 0, { what: `dropped ${what}` });
}

describe('a fault of existing connections', () => {
  test('leaves connections to come alone, and healing resets those that lost something', async () => {
    const old = await echo().greeted();
    echo().proxy.blackhole({ scope: 'existing' });
    old.send('lost;');
    const fresh = await echo().greeted();
    await dropsSome('requests');
    expect(old.received).toBe('hello;');
    await echo().proxy.heal();
    await endsAs(old, 'ECONNRESET');
    fresh.send('b;');
    await receives(fresh, 'hello;b;');
  });
});

describe('silenced connections', () => {
  test('by what they ask for: those that have asked, and those that ask before the proxy is healed', async () => {
    const [asked, spared] = [await echo().greeted(), await echo().greeted()];
    asked.send('watch;');
    await receives(asked, 'hello;watch;');
    echo().proxy.silence((request) => request.startsWith('watch'));
    asked.send('a;');
    spared.send('b;');
    await receives(spared, 'hello;b;');
    spared.send('watch;');
    await until(() => echo().proxy.stats().requests.dropped === 'a;watch;'.length, { what: 'dropped requests' });
    expect([asked.received, asked.state, spared.received, spared.state]).toEqual(['hello;watch;', 'open', 'hello;b;', 'open']);
    await echo().proxy.heal();
    await endsAs(asked, 'ECONNRESET');
    await endsAs(spared, 'ECONNRESET');
    const one = await echo().greeted();
    one.send('watch;');
    await receives(one, 'hello;watch;');
  });
});

describe('dropped replies', () => {
  test('the server gets the request, the client no answer, and the connection stays open', async () => {
    const one = await echo().greeted();
    echo().proxy.dropReplies();
    one.send('applied;');
    await echo().serverGets('hello;applied;');
    await sleep(QUIET_MS);
    expect(one.received).toBe('hello;');
    expect(one.state).toBe('open');
    expect(echo().proxy.stats().replies.dropped).toBe('applied;'.length);
  });

  test('healing resets the connection that lost something, and only that one', async () => {
    const harmed = await echo().greeted();
    const idle = await echo().greeted();
    echo().proxy.dropReplies();
    harmed.send('a;');
    await dropsSome('replies');
    await echo().proxy.heal();
    await endsAs(harmed, 'ECONNRESET');
    idle.send('b;');
    await receives(idle, 'hello;b;');
    await echo().greeted();
  });

  test('healing without a reset leaves it open', async () => {
    const one = await echo().greeted();
    echo().proxy.dropReplies();
    one.send('lost;');
    await dropsSome('replies');
    await echo().proxy.heal({ reset: false });
    one.send('b;');
    await receives(one, 'hello;b;');
  });

  test('for new connections alone spares those that are there', async () => {
    const old = await echo().greeted();
    echo().proxy.dropReplies({ scope: 'new' });
    const young = echo().client();
    young.send('young;');
    old.send('old;');
    await receives(old, 'hello;old;');
    await until(() => echo().proxy.stats().replies.dropped === 'young;'.length, { what: 'a dropped reply' });
    expect(young.received).toBe('');
  });
});

describe('dropped requests', () => {
  test('the server gets nothing, and the connection stays open', async () => {
    const one = await echo().greeted();
    echo().proxy.dropRequests();
    one.send('lost;');
    await until(() => echo().proxy.stats().requests.dropped === 'lost;'.length, { what: 'a dropped request' });
    await sleep(QUIET_MS);
    expect(echo().server.received).toBe('hello;');
    expect(one.state).toBe('open');
  });
});

describe('a black hole', () => {
  test('swallows both ways, on connections that are there and on new ones, which are accepted', async () => {
    const old = await echo().greeted();
    echo().proxy.blackhole();
    const young = echo().client();
    old.send('a;');
    young.send('b;');
    await until(() => echo().proxy.stats().requests.dropped === 4, { what: 'two dropped requests' });
    await sleep(QUIET_MS);
    expect(echo().server.received).toBe('hello;');
    expect([old.state, young.state, young.received]).toEqual(['open', 'open', '']);
  });

  test('hides that the server went away, and healing tells of it', async () => {
    const one = await echo().greeted();
    echo().proxy.blackhole();
    echo().server.resetAll();
    await sleep(QUIET_MS);
    expect(one.state).toBe('open');
    await echo().proxy.heal({ reset: false });
    await endsAs(one, 'ECONNRESET');
  });

  test('healed, it serves on the same port', async () => {
    const one = await echo().greeted();
    echo().proxy.blackhole();
    one.send('a;');
    await dropsSome('requests');
    await echo().proxy.heal();
    await endsAs(one, 'ECONNRESET');
    await echo().greeted();
  });
});

describe('a dropped next reply', () => {
  test('the request is served, its answer swallowed, and the connection reset; only once', async () => {
    const one = await echo().greeted();
    const sprung = echo().proxy.dropNextReply({ resetAfterMs: 20 });
    one.send('applied;');
    await expect(sprung).resolves.toBe(true);
    await endsAs(one, 'ECONNRESET');
    expect(echo().server.received).toBe('hello;applied;');
    expect(one.received).toBe('hello;');
    await echo().greeted();
  });

  test('waits for as many bytes of a request as it was asked to', async () => {
    const one = await echo().greeted();
    const sprung = echo().proxy.dropNextReply({ afterRequestBytes: 10 });
    one.send('ping;');
    await receives(one, 'hello;ping;');
    one.send('request;');
    await expect(sprung).resolves.toBe(true);
    expect(one.received).toBe('hello;ping;');
    expect(echo().server.received).toBe('hello;ping;request;');
  });

  test('catches one connection and leaves the others alone', async () => {
    const caught = await echo().greeted();
    const other = await echo().greeted();
    const sprung = echo().proxy.dropNextReply({ resetAfterMs: 300 });
    caught.send('a;');
    await echo().serverGets('hello;hello;a;');
    other.send('b;');
    await receives(other, 'hello;b;');
    expect(caught.state).toBe('open');
    await sprung;
    await endsAs(caught, 'ECONNRESET');
  });

  test('is given up when healed', async () => {
    const one = await echo().greeted();
    const sprung = echo().proxy.dropNextReply();
    await echo().proxy.heal();
    await expect(sprung).resolves.toBe(false);
    one.send('a;');
    await receives(one, 'hello;a;');
  });
});
