/** Two members of an open membership that dial each other at the same moment. */

import { freePort, LOOPBACK, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { emergent, PeerMember, TcpTransport } from '../../src/index.ts';
import { SECRET, WAIT_MS } from './group.ts';

const IDS = ['a', 'b'] as const;

async function newSeeds(): Promise<Readonly<Record<string, string>>> {
  const ports = new Set<number>();
  while (ports.size < IDS.length) ports.add(await freePort());
  return Object.fromEntries([...ports].map((port, i) => [IDS[i] ?? '', `${LOOPBACK}:${port}`]));
}

it('receive all messages of each other, although one of the two connections ends', async () => {
  const seeds = await newSeeds();
  const transports = IDS.map((memberId) => new TcpTransport({ memberId, seeds, secret: SECRET }));
  const received: unknown[] = [];
  const links = await Promise.all(
    transports.map(async (transport) =>
      transport.election('x').open({
        memberId: transport.memberId,
        members: 'open',
        receive: (from, { message }) => received.push([from, message]),
        found: () => {},
      }),
    ),
  );
  const sorts = Array.from({ length: 50 }, (_, i) => `s${i}`);
  for (const sort of sorts)
    links.forEach((link, i) => link.send(IDS[1 - i] ?? '', { configuration: '', message: sort }, sort, seeds[IDS[1 - i] ?? '']));
  await until(() => received.length >= 2 * sorts.length, { what: 'all messages', withinMs: WAIT_MS });
  expect(new Set(received.map((each) => JSON.stringify(each))).size).toBe(2 * sorts.length);
  await Promise.all(transports.map((transport) => transport.close()));
});

it('and are the only seeds found one cluster when they start together', async () => {
  const seeds = await newSeeds();
  const led: string[] = [];
  const members = IDS.map((memberId) => {
    const transport = new TcpTransport({ memberId, seeds, secret: SECRET });
    const algorithm = emergent({ cluster: 'orders', heartbeatEveryMs: 400 });
    return { transport, member: new PeerMember({ algorithm, transport: transport.election('x'), memberId }) };
  });
  const over = members.map(({ member }) =>
    member.lead(async ({ memberId, ended }) => {
      led.push(memberId);
      await ended;
    }),
  );
  const isJoined = (): boolean => members.every(({ member }) => member.membership?.members.length === IDS.length);
  await until(isJoined, { what: 'one cluster', withinMs: WAIT_MS });
  expect(led).toEqual(['a']);
  await Promise.all(members.map(({ member }) => member.close()));
  await Promise.all([...over, ...members.map(({ transport }) => transport.close())]);
});
