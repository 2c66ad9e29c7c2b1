/** A proxy that holds things back: they come late, and nothing is lost. */

import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { QUIET_MS, receives, useEcho } from './proxied.ts';

const echo = useEcho();

describe('latency', () => {
  test('holds every byte back for its time each way, in order', async () => {
    echo().proxy.latency(80);
    const one = echo().client();
    const start = performance.now();
    one.send('a;');
    await sleep(20);
    one.send('b;');
    await receives(one, 'a;b;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(160);
  });

  test('of replies alone leaves requests as quick as they are', async () => {
    const one = await echo().greeted();
    echo().proxy.latency(10_000, { direction: 'replies' });
    const start = performance.now();
    one.send('a;');
    await echo().serverGets('hello;a;');
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(one.received).toBe('hello;');
    await receives(one, 'hello;a;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(10_000);
  });

  test('changed, leaves what is under way its time', async () => {
    const one = await echo().greeted();
    echo().proxy.latency(100, { direction: 'requests' });
    one.send('a;');
    await sleep(20);
    echo().proxy.latency(60_000, { direction: 'requests' });
    await expect(echo().serverGets('hello;a;')).resolves.toBe(true);
  });

  test('healed, delivers at once what was under way, and nothing is reset', async () => {
    const one = await echo().greeted();
    echo().proxy.latency(60_000);
    one.send('a;');
    await sleep(QUIET_MS);
    await echo().proxy.heal();
    await receives(one, 'hello;a;');
    expect(one.state).toBe('open');
  });
});

describe('a stall', () => {
  test('holds everything and then delivers all of it, in order, on the same connection', async () => {
    const one = await echo().greeted();
    const start = performance.now();
    echo().proxy.stall(200);
    one.send('a;');
    await sleep(30);
    one.send('b;');
    await sleep(30);
    expect(echo().server.received).toBe('hello;');
    await receives(one, 'hello;a;b;');
    expect(performance.now() - start).toBeGreaterThanOrEqual(199);
    expect(echo().proxy.stats().requests.dropped).toBe(0);
  });

  test('without an end lasts until healed, and healing resets nothing', async () => {
    const one = await echo().greeted();
    echo().proxy.stall();
    one.send('a;');
    await sleep(QUIET_MS);
    expect(echo().server.received).toBe('hello;');
    await echo().proxy.heal();
    await receives(one, 'hello;a;');
    expect(one.state).toBe('open');
  });

  test('holds what latency had under way, too', async () => {
    const one = await echo().greeted();
    echo().proxy.latency(5_000);
    one.send('a;');
    await sleep(20);
    echo().proxy.stall();
    await sleep(5_100);
    expect(echo().server.received).toBe('hello;');
    await echo().proxy.heal();
    await receives(one, 'hello;a;');
  });

  test('of replies alone lets requests through', async () => {
    const one = await echo().greeted();
    echo().proxy.stall(undefined, { direction: 'replies' });
    one.send('a;');
    await echo().serverGets('hello;a;');
    await sleep(QUIET_MS);
    expect(one.received).toBe('hello;');
  });
});
