import { afterEach, beforeEach, expect, test } from 'vitest';

import { Balancer, until } from '../src/index.ts';
import { EchoClient, EchoServer } from './echo.ts';

let servers: readonly EchoServer[] = [];
let balancer: Balancer;
beforeEach(async () => {
  servers = await Promise.all([EchoServer.start(), EchoServer.start()]);
  balancer = await Balancer.open(servers.map(({ port }) => `http://127.0.0.1:${port}`));
});
afterEach(async () => {
  await balancer[Symbol.asyncDispose]();
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
});

async function greeted(): Promise<EchoClient> {
  const client = new EchoClient(Number(new URL(balancer.url).port));
  client.send('hello;');
  await until(() => client.received === 'hello;', { what: 'the echo' });
  return client;
}

test('a balancer leads each new connection to the next server', async () => {
  for (let count = 0; count < 3; count += 1) await greeted();
  expect(balancer.connections.map(({ to }) => to)).toEqual([0, 1, 0]);
});

test('connections that were made silent stay open and pass nothing, and new ones work', async () => {
  const old = await greeted();
  balancer.blackhole();
  old.send('lost;');
  await greeted();
  expect([old.received, old.state]).toEqual(['hello;', 'open']);
});
