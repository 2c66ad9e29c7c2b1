/** How long a member of an open membership stays connected with another one. */

import { freePort, LOOPBACK, until } from '@incumbent/test-support';
import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { TcpTransport } from '../../src/index.ts';
import { SECRET, WAIT_MS } from './group.ts';

it('a connection on which only the other member sends stays, and ends a minute after its last message', async () => {
  const clock = new ManualClock();
  const seeds = { a: `${LOOPBACK}:${await freePort()}` };
  // On this clock, the answers to pings take no time, so none may be missed.
  const receiver = new TcpTransport({ memberId: 'a', seeds, secret: SECRET, clock, keepaliveMs: 60_000 });
  const sender = new TcpTransport({ memberId: 'b', seeds, address: `${LOOPBACK}:${await freePort()}`, secret: SECRET });
  let received = 0;
  const open = { members: 'open', found: () => {} } as const;
  await receiver.election('x').open({ ...open, memberId: 'a', receive: () => (received += 1) });
  const link = await sender.election('x').open({ ...open, memberId: 'b', receive: () => {} });
  for (let i = 1; i <= 20; i += 1) {
    link.send('a', { configuration: '', message: i }, 'sort', seeds.a);
    await until(() => received === i, { what: `message ${i}`, withinMs: WAIT_MS });
    await clock.advance(5_000);
  }
  expect(receiver.connected).toEqual(['b']);
  for (let i = 0; i < 13; i += 1) await clock.advance(5_000);
  expect(receiver.connected).toEqual([]);
  await Promise.all([clock.run(receiver.close()), sender.close()]);
});
