/** A connection whose other side has disappeared without closing it. */

import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { WAIT_MS, refusals, TcpGroup } from './group.ts';

it('both sides end a half-open connection and reconnect when they can; the leader stays leader', async () => {
  // b dials c through a proxy. Whichever of them leads, it and a are a majority.
  await using group = await TcpGroup.make(['a', 'b', 'c'], { transport: { keepaliveMs: 300, handshakeTimeoutMs: 1_000 } });
  group.start('a');
  group.start('c');
  const proxy = await group.proxy('c');
  group.start('b');
  const leader = await group.leader();
  proxy.blackhole();
  const [b, c] = [group.of('b').transport, group.of('c').transport];
  await Promise.all([refusals(b, 'unresponsive'), refusals(c, 'unresponsive')]);
  expect([b.connected, c.connected]).toEqual([['a'], ['a']]);
  // A dialling member must also give up in time meanwhile.
  await refusals(b, 'handshakeTimeout');
  expect(leader.isValid()).toBe(true);
  await proxy.heal();
  await until(() => b.connected.includes('c'), { what: 'connected again', withinMs: WAIT_MS });
  expect((await group.leader()).term).toBe(leader.term);
});
