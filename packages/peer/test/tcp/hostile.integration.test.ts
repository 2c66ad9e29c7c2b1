/**
 * Connections of strangers and of misbehaving members. The transport refuses them with a reason and
 * counts them, and the leader keeps leading.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, LOOPBACK } from '@incumbent/test-support';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PeerLeadership, TcpTransport } from '../../src/index.ts';
import { encodePacket } from '../../src/tcp/codec.ts';
import { refusals, TcpGroup } from './group.ts';
import { accomplice, announced, framed, PREFACE, prove, Stranger } from './stranger.ts';

const TWO_GB = 2 ** 31;
/** A listed member that never starts. A test that plays its part knows the secret. */
const ABSENT = '0';

let group: TcpGroup;
let leader: PeerLeadership<'quorum'>;
/** Every other member dials it. */
let target: TcpTransport;
let port: number;

beforeAll(async () => {
  group = await TcpGroup.make([ABSENT, 'a', 'b', 'c', 'd'], { transport: { keepaliveMs: 300, handshakeTimeoutMs: 1_000 } });
  for (const id of ['a', 'b', 'c', 'd']) group.start(id);
  leader = await group.leader();
  target = group.of('d').transport;
  port = group.ports.get('d')!;
});
afterAll(() => group[Symbol.asyncDispose]());
afterEach(async () => {
  expect(leader.isValid()).toBe(true);
  expect((await group.leader()).term).toBe(leader.term);
});

/** Starts a transport on a port of its own, and opens an election. */
async function started(memberId: string, options: Parameters<TcpGroup['transport']>[1] = {}): Promise<TcpTransport> {
  const transport = group.transport(memberId, { listen: `${LOOPBACK}:${await freePort()}`, ...options });
  await transport.election('controller').open({ memberId, members: [memberId], receive: () => {} });
  return transport;
}

describe('a member over TCP refuses', () => {
  it('a process that does not know the secret', async () => {
    await using impostor = await started('a', { secret: 'what somebody thought it was' });
    await refusals(target, 'wrongSecret');
    await refusals(impostor, 'refusedThere');
    expect(impostor.connected).toEqual([]);
  });

  it('a process that it dialled and that does not know the secret', async () => {
    await using impostor = await started(ABSENT, {
      secret: 'what somebody thought it was',
      listen: `${LOOPBACK}:${group.ports.get(ABSENT)}`,
    });
    await refusals(impostor, 'refusedThere');
    using stranger = new Stranger(port);
    const hello = { type: 'hello', from: ABSENT, to: 'd', incarnation: '0'.repeat(32), nonce: '0'.repeat(64), security: 'secret' };
    stranger.listen().say(PREFACE, framed(JSON.stringify(hello)), framed(JSON.stringify({ type: 'proof', proof: '0'.repeat(64) })));
    await stranger.closed;
    expect(stranger.heard.toString()).toContain('"reason":"wrongSecret"');
    // The member sent nothing that depends on the secret.
    expect(stranger.heard.toString()).not.toContain('"proof"');
  });

  it('a member that is not listed', async () => {
    const members = { a0: `${LOOPBACK}:${await freePort()}`, d: `${LOOPBACK}:${port}` };
    await using stranger = await started('a0', { members });
    await refusals(target, 'unknownMember');
    await refusals(stranger, 'refusedThere');
  });

  it('a process that wants another member, or a member that should not dial', async () => {
    const before = target.refused.wrongMember;
    await using _lost = await started(ABSENT, { members: { ...group.addresses, c: `${LOOPBACK}:${port}` } });
    await refusals(target, 'wrongMember', before + 1);
    const { wrongMember } = group.of('a').transport.refused;
    await expect(accomplice(group.ports.get('a')!, 'b', 'a')).rejects.toMatchObject({
      reason: 'refusedThere',
      facts: { there: 'wrongMember' },
    });
    expect(group.of('a').transport.refused.wrongMember).toBe(wrongMember + 1);
  });

  it('the second of two processes with one member id, until the first has gone', async () => {
    using first = await accomplice(port, ABSENT, 'd');
    const { handshake, wire } = first;
    // The member answers every ping.
    wire.stream(10_000, (frame) => {
      const content = handshake.theirs.open(frame);
      if (content[0] !== 2) return;
      const answer = Buffer.of(3, 0);
      wire.write(handshake.ours.sign(answer), answer);
    });
    const again = { duplicateMember: target.refused.duplicateMember + 3 };
    await using second = await started(ABSENT);
    await refusals(target, 'duplicateMember', again.duplicateMember);
    expect(second.refused.refusedThere).toBeGreaterThan(1);
    expect(second.connected).not.toContain('d');
    first[Symbol.dispose]();
    await group.leader();
    await expect.poll(() => second.connected, { timeout: 10_000 }).toContain('d');
  });

  it('a frame of 2 GB, before it reads the content', async () => {
    using stranger = new Stranger(port).say(PREFACE, announced(TWO_GB));
    await stranger.closed;
    await refusals(target, 'tooLarge');
    // The same, from a listed member.
    using member = await accomplice(port, ABSENT, 'd');
    const { rss } = process.memoryUsage();
    member.stranger.say(announced(TWO_GB - 1), Buffer.alloc(100_000));
    await member.stranger.closed;
    await refusals(target, 'tooLarge', 2);
    expect(process.memoryUsage().rss - rss).toBeLessThan(200 * 2 ** 20);
  });

  it('other protocols and other versions', async () => {
    for (const words of [
      'GET / HTTP/1.1\r\nHost: d\r\n\r\n',
      Buffer.alloc(64, 0xff),
      Buffer.from('IncPeek1'),
      Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1]),
    ]) {
      const before = target.refused.notThisProtocol;
      using stranger = new Stranger(port).listen().say(words);
      await stranger.closed;
      expect(stranger.heard).toHaveLength(0);
      expect(target.refused.notThisProtocol).toBe(before + 1);
    }
    using newer = new Stranger(port).say('IncPeer2');
    await newer.closed;
    expect(target.refused.version).toBe(1);
  });

  it('an invalid first message', async () => {
    const greetings = ['', '{}', '[]', 'null', '{"type":"hello"}', '{"type":"welcome"}', '\u0000\u0001', '"'.repeat(900)];
    for (const [i, greeting] of greetings.entries()) {
      using stranger = new Stranger(port).say(PREFACE, framed(greeting));
      await stranger.closed;
      expect(target.refused.malformed).toBe(i + 1);
    }
  });

  it('a process that does not authenticate in time, however slowly it sends', async () => {
    using silent = new Stranger(port);
    using slow = new Stranger(port);
    const beganMs = performance.now();
    let isOpen = true;
    void slow.closed.then(() => (isOpen = false));
    for (const byte of Buffer.concat([PREFACE, announced(500), Buffer.alloc(500, 0x20)])) {
      if (!isOpen) break;
      slow.say(Buffer.of(byte));
      await sleep(50);
    }
    await Promise.all([silent.closed, slow.closed]);
    await refusals(target, 'handshakeTimeout', 2);
    expect(performance.now() - beganMs).toBeLessThan(5_000);
  });

  it('too many unauthenticated connections; a member can still connect', async () => {
    const strangers = Array.from({ length: 200 }, () => new Stranger(port));
    await refusals(target, 'tooManyConnections', 100);
    using member = await accomplice(port, ABSENT, 'd');
    expect(member.handshake.memberId).toBe('d');
    for (const stranger of strangers) stranger[Symbol.dispose]();
    await Promise.all(strangers.map(({ closed }) => closed));
  });

  it('frames that were replayed, reordered, changed or reflected', async () => {
    const ping = Buffer.of(2, 0);
    const attacks: readonly ((one: Awaited<ReturnType<typeof accomplice>>) => Promise<unknown> | unknown)[] = [
      ({ wire, handshake: { ours } }) => {
        const mark = ours.sign(ping);
        wire.write(mark, ping);
        wire.write(mark, ping);
      },
      ({ wire, handshake: { ours } }) => {
        const marks = [ours.sign(ping), ours.sign(ping)];
        for (const mark of marks.toReversed()) wire.write(mark, ping);
      },
      ({ wire, handshake: { ours } }) => wire.write(ours.sign(ping), Buffer.of(3, 0)),
      async ({ wire }) => wire.write(await wire.read()),
      ({ wire }) => wire.write(ping),
    ];
    for (const [i, attack] of attacks.entries()) {
      using member = await accomplice(port, ABSENT, 'd');
      await attack(member);
      member.stranger.socket.resume();
      await member.stranger.closed;
      await refusals(target, 'forged', i + 1);
    }
  });

  it('a recorded conversation, replayed', async () => {
    using first = new Stranger(port);
    const said: Buffer[] = [];
    const write = first.socket.write.bind(first.socket);
    const overhear = (bytes: Buffer): boolean => said.push(bytes) > 0 && write(bytes);
    Object.assign(first.socket, { write: overhear });
    await prove(first, ABSENT, 'd');
    const before = target.refused.wrongSecret;
    first[Symbol.dispose]();
    using replayed = new Stranger(port).say(...said);
    await replayed.closed;
    expect(target.refused.wrongSecret).toBe(before + 1);
  });

  it('an invalid message from a member', async () => {
    const before = target.refused.malformed;
    const contents = [
      Buffer.of(9),
      Buffer.of(),
      Buffer.of(1),
      Buffer.from('\u0001{"election":"controller"}'),
      Buffer.from('\u0001[[[[[[[[[[[['),
    ];
    for (const [i, content] of contents.entries()) {
      using member = await accomplice(port, ABSENT, 'd');
      member.wire.write(member.handshake.ours.sign(content), content);
      member.stranger.socket.resume();
      await member.stranger.closed;
      await refusals(target, 'malformed', before + i + 1);
    }
    // The algorithm of the election decides whether the content is a message.
    using member = await accomplice(port, ABSENT, 'd');
    const packet = { election: 'controller', configuration: 'none of ours', message: { type: 'heartbeat', term: 99n, round: 1 } };
    const content = Buffer.concat([Buffer.of(1), encodePacket(packet)]);
    member.wire.write(member.handshake.ours.sign(content), content);
    await expect.poll(() => group.of('d').member.refused.configuration, { timeout: 5_000 }).toBe(1);
  });

  it('a process that does not read the answers', async () => {
    using member = await accomplice(port, ABSENT, 'd');
    member.stranger.socket.pause();
    // The member keeps sending pings. That does not show that it reads the answers.
    const asking = setInterval(() => member.wire.write(member.handshake.ours.sign(Buffer.of(2, 0)), Buffer.of(2, 0)), 50);
    const before = target.refused.unresponsive;
    await refusals(target, 'unresponsive', before + 1);
    clearInterval(asking);
  });
});
