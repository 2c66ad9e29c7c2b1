/** The port of a transport. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort, LOOPBACK } from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { MemoryStorage, PeerMember, quorum, TcpTransport } from '../../src/index.ts';
import { SECRET } from './group.ts';

it('that another process uses is taken by the next member of the transport, once it is free', async () => {
  const port = await freePort();
  const other = createServer().listen(port, LOOPBACK);
  await once(other, 'listening');
  const transport = new TcpTransport({ memberId: 'a', members: { a: `${LOOPBACK}:${port}` }, secret: SECRET });
  const newMember = (): PeerMember<'quorum'> =>
    new PeerMember({
      algorithm: quorum({ members: ['a'], electionTimeoutMinMs: 100 }),
      transport: transport.election('x'),
      memberId: 'a',
      storage: new MemoryStorage(),
    });
  await using early = newMember();
  await expect(early.campaign()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  other.close();
  await once(other, 'close');
  await using late = newMember();
  expect((await late.campaign()).term).toBe(1n);
  await late.close();
  await transport.close();
});

it('that stays taken leaves no listeners behind, however often it is tried', async () => {
  const port = await freePort();
  const other = createServer().listen(port, LOOPBACK);
  await once(other, 'listening');
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  const transport = new TcpTransport({ memberId: 'a', members: { a: `${LOOPBACK}:${port}` }, secret: SECRET });
  for (let i = 0; i < 12; i += 1)
    await expect(transport.election(`x${i}`).open({ memberId: 'a', members: ['a'], receive: () => {} })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  await transport.close();
  other.close();
  await once(other, 'close');
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
