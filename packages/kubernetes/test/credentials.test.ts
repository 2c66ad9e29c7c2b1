/** How often the credentials are read. No test waits for a time to pass. */

import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import type { Credentials } from '../src/client/access.ts';
import { Client } from '../src/client/client.ts';
import { connectDirectly } from '../src/client/connections.ts';

/** A client whose requests end before they need a server. */
function clientWith(credentials: () => Promise<Credentials>): { readonly client: Client; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const access = { endpoint: { host: '127.0.0.1', port: 1 }, basePath: '', namespace: undefined, credentials };
  return { client: new Client({ access, connect: connectDirectly, connectTimeoutMs: 1_000, clock }), clock };
}

it('a plug-in that hangs is not started again for each request', async () => {
  let reads = 0;
  const { client, clock } = clientWith(() => {
    reads += 1;
    return new Promise(() => {});
  });
  for (let request = 0; request < 20; request += 1) {
    const failed = client.request({ method: 'GET', path: '/version' }, { timeoutMs: 1_000 }).catch(String);
    await clock.advance(5_001);
    expect(await failed).toContain('not sent');
  }
  // One in 60 s.
  expect(reads).toBe(2);
  await client.close();
});

it('requests that fail at one moment because the credentials cannot be read share one read', async () => {
  let reads = 0;
  const { client, clock } = clientWith(async () => {
    reads += 1;
    throw new Error('the network is unreachable');
  });
  const fails = (): Promise<void> =>
    expect(client.request({ method: 'GET', path: '/version' }, { timeoutMs: 1_000 })).rejects.toThrow('the network is unreachable');
  for (let request = 0; request < 10; request += 1) await fails();
  expect(reads).toBe(1);
  await clock.advance(1_000);
  await fails();
  expect(reads).toBe(2);
  await client.close();
});

it('credentials are fresh from the end of their read on, however long it took', async () => {
  const reads: PromiseWithResolvers<Credentials>[] = [];
  const { client, clock } = clientWith(() => {
    const read = Promise.withResolvers<Credentials>();
    reads.push(read);
    return read.promise;
  });
  const ask = (): Promise<unknown> => client.request({ method: 'GET', path: '/version' }, { timeoutMs: 30_000 }).catch(() => {});
  const first = ask();
  await clock.advance(10_000);
  reads[0]?.resolve({ headers: {}, tls: undefined });
  await first;
  await ask();
  expect(reads).toHaveLength(1);
  const third = ask();
  await clock.advance(5_000);
  await third;
  const fourth = ask();
  expect(reads).toHaveLength(2);
  await client.close();
  await fourth;
});
