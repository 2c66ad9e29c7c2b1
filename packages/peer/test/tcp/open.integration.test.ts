/** An open membership over real sockets. */

import { freePort, LOOPBACK, makeScratch, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { emergent, PeerMember, type PeerTls, TcpTransport } from '../../src/index.ts';
import { Authority } from './authority.ts';
import { TcpCrowd } from './crowd.ts';
import { refusals } from './group.ts';

const WAIT_MS = 60_000;
const quick = { cluster: 'orders', heartbeatEveryMs: 250, failureTimeoutMs: 2_500, searchEveryMs: 500, joinAttempts: 60 };

it('30 members join, lose three, are split in three by cut connections, and are one again', { timeout: 300_000 }, async () => {
  // Thirty members in one process may be slow on a busy machine.
  await using crowd = new TcpCrowd({ ...quick, heartbeatEveryMs: 400, failureTimeoutMs: 8_000, heartbeatsTo: 3 });
  const ids = Array.from({ length: 30 }, (_, i) => `m${String(i).padStart(2, '0')}`);
  // If two seeds start together on a slow machine, either may found the cluster.
  await crowd.start('m00', true);
  await crowd.agreed(crowd.of('m00'), WAIT_MS);
  for (const id of ids.slice(1)) await crowd.start(id, id === 'm01');
  const first = await crowd.agreed(crowd.of(...ids), WAIT_MS);
  expect(first).toBe('m00');
  for (const id of ['m05', 'm17', 'm29']) await crowd.kill(id);
  const rest = [...crowd.attendees.keys()];
  expect(await crowd.agreed(crowd.of(...rest), WAIT_MS)).toBe('m00');

  const sides = [0, 1, 2].map((part) => rest.filter((_, i) => i % 3 === part));
  crowd.relay.part(sides);
  const leaders = await Promise.all(sides.map((side) => crowd.agreed(crowd.of(...side), WAIT_MS)));
  // Best effort: each side has a leader of its own.
  expect(new Set(leaders).size).toBe(3);
  expect(sides.every((side, i) => side.includes(leaders[i]!))).toBe(true);

  crowd.relay.heal();
  const leader = await crowd.agreed(crowd.of(...rest), WAIT_MS);
  expect(leaders).toContain(leader);
  for (const other of leaders) if (other !== leader) expect(crowd.of(other)[0]!.ends).toContain('merged');
});

it('a seed that starts later joins, and founds no cluster of its own', async () => {
  await using crowd = new TcpCrowd(quick);
  await crowd.start('b', true);
  await crowd.agreed(crowd.of('b'), WAIT_MS);
  await crowd.start('a', true);
  expect(await crowd.agreed(crowd.of('a', 'b'), WAIT_MS)).toBe('b');
  expect(crowd.of('a', 'b').flatMap(({ ends }) => ends)).toEqual([]);
});

it('two members that dial each other keep one connection', async () => {
  await using crowd = new TcpCrowd(quick);
  const ids = ['a', 'b', 'c', 'd'];
  for (const id of ids) await crowd.start(id, true);
  await crowd.agreed(crowd.of(...ids), WAIT_MS);
  const isOne = (): boolean => crowd.relay.passages.size === 6 && [...crowd.relay.passages.values()].every((count) => count === 1);
  await until(isOne, { what: 'one connection for each two', withinMs: WAIT_MS });
  expect(crowd.of('a')[0]!.transport.connected.toSorted()).toEqual(['b', 'c', 'd']);
});

it('a process without the secret, a second process with one id, and a process of another cluster cannot join', async () => {
  await using crowd = new TcpCrowd({ ...quick, joinAttempts: 4 });
  await crowd.start('a', true);
  await crowd.start('b');
  await crowd.agreed(crowd.of('a', 'b'), WAIT_MS);
  const [a, b] = crowd.of('a', 'b');
  const stranger = await crowd.start('c', false, {}, { secret: 'another secret than theirs' });
  await refusals(a!.transport, 'wrongSecret');
  const other = await crowd.start('d', false, { cluster: 'stock' });
  await until(() => a!.member.refused.configuration > 0, { what: 'a refusal', withinMs: WAIT_MS });
  const second = await crowd.start('b');
  await refusals(a!.transport, 'duplicateMember');
  crowd.attendees.set('b', b!);
  for (const { member } of [stranger, other, second])
    await expect(member.campaign()).rejects.toMatchObject({ code: expect.stringMatching(/FAILED|CAMPAIGNING/) });
  expect(await crowd.agreed(crowd.of('a', 'b'), WAIT_MS)).toBe('a');
  await second.member.close();
  await second.transport.close();
});

it('members authenticate each other by certificates', async () => {
  const scratch = await makeScratch('peer-open-tls');
  const authority = await new Authority(scratch.path, 'ours').make();
  const certificates = new Map<string, PeerTls>();
  for (const id of ['a', 'b', 'c']) certificates.set(id, await authority.certify(id));
  {
    await using crowd = new TcpCrowd(quick, (id) => ({ tls: certificates.get(id === 'x' ? 'c' : id)! }));
    for (const id of ['a', 'b', 'c']) await crowd.start(id, id === 'a');
    expect(await crowd.agreed(crowd.of('a', 'b', 'c'), WAIT_MS)).toBe('a');
    // With the certificate of another member.
    await crowd.start('x');
    await refusals(crowd.of('a')[0]!.transport, 'certificate');
  }
  await scratch.remove();
});

it('a `seeds` function that never resolves does not block `close()`', async () => {
  const port = await freePort();
  const seeds = (): Promise<never> => new Promise(() => {});
  const transport = new TcpTransport({ memberId: 'a', seeds, address: `${LOOPBACK}:${port}`, insecure: true });
  const member = new PeerMember({ algorithm: emergent(quick), transport: transport.election('x'), memberId: 'a' });
  await member.start();
  await member.close();
  await transport.close();
});

it('the `seeds` function is called again, and finds a member that returns at another address', { timeout: 120_000 }, async () => {
  await using crowd = new TcpCrowd(quick);
  let seeds: Record<string, string> = {};
  const more = { seeds: async () => seeds };
  const late = await crowd.start('b', false, {}, more);
  await crowd.start('a', true);
  await crowd.agreed(crowd.of('a'), WAIT_MS);
  expect(late.member.membership).toBeUndefined();
  seeds = { a: crowd.of('a')[0]!.member.membership!.members[0]!.address };
  await crowd.agreed(crowd.of('a', 'b'), WAIT_MS);
  const before = crowd.of('a')[0]!.member.membership!.members[1]!.address;
  expect(before.startsWith(LOOPBACK)).toBe(true);
  await crowd.kill('b');
  await crowd.start('b');
  await until(() => crowd.of('b')[0]!.member.membership?.members.some(({ address }) => address === before) === false, {
    what: 'its other address',
    withinMs: WAIT_MS,
  });
  await crowd.agreed(crowd.of('a', 'b'), WAIT_MS);
});
