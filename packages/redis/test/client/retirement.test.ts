/** A connection that takes no more requests, while those in flight wait for their answers. */

import { duplexPair } from 'node:stream';

import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { Connection } from '../../src/client/connection.ts';
import { ExchangeError } from '../../src/protocol/failure.ts';
import { push, type Peer } from '../fake-servers.ts';
import { endOf, serving, start, type Served } from './calls.ts';

/**
 * A connection that a call has retired after 500 ms of silence, with another call still in flight.
 */
async function retired(timeoutMs: number): Promise<Served & { readonly slow: Promise<unknown>; readonly peer: Peer }> {
  const served = serving(([name]) => (name === 'HELLO' ? undefined : ''));
  const slow = start(served.client, timeoutMs);
  void start(served.client, 500);
  await served.servers.clock.advance(500);
  return { ...served, slow, peer: served.servers.peer };
}

/** The server sends something every second, so the connection is not silent. */
async function sendFor({ servers, peer }: { readonly servers: Served['servers']; readonly peer: Peer }, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    peer.say(push('message', 'c', 'news'));
    await servers.clock.advance(1_000);
  }
}

it('a retired connection lasts as long as a call waits for its answer', async () => {
  const { servers, client, slow, peer } = await retired(20_000);
  await sendFor({ servers, peer }, 12_000);
  expect(peer.left).toBe(false);
  peer.say('+at last\r\n');
  expect(await endOf(servers, slow)).toBe('at last');
  client.close();
});

it('a retired connection ends when the last call on it has timed out', async () => {
  const { servers, client, slow, peer } = await retired(8_000);
  await sendFor({ servers, peer }, 9_000);
  expect(await endOf(servers, slow)).toBe('TIMEOUT unknown');
  expect(peer.left).toBe(true);
  client.close();
  expect(servers.clock.timers).toBe(0);
});

it('a retired connection ends after 5 s if no call waits for what the server still sends', async () => {
  const { servers, client, peer } = await retired(500);
  await sendFor({ servers, peer }, 4_000);
  expect(peer.left).toBe(false);
  await sendFor({ servers, peer }, 2_000);
  expect(peer.left).toBe(true);
  client.close();
});

it('a connection that has failed leaves no timer when it is retired', async () => {
  const clock = new ManualClock();
  const [near] = duplexPair();
  const connection = new Connection(near, clock, { onPush: () => {} });
  const failure = new ExchangeError({ kind: 'cut' }, 'it broke');
  connection.end(failure);
  connection.retire(new ExchangeError({ kind: 'cut' }, 'it was silent'));
  expect(clock.timers).toBe(0);
  expect(await connection.ended).toBe(failure);
});
