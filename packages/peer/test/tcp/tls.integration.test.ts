/** Members that authenticate each other by certificates. */

import { once } from 'node:events';
import { isIPv6, type Socket } from 'node:net';
import { connect, createServer } from 'node:tls';
import { certificatesOf } from '@incumbent/network';
import { freePort, LOOPBACK, makeScratch, until, type Scratch } from '@incumbent/test-support';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PeerTls, TcpTransport, TcpTransportOptions } from '../../src/index.ts';
import { logger } from '../support.ts';
import { Authority } from './authority.ts';
import { refusals, SECRET, TcpGroup } from './group.ts';
import { PREFACE, Stranger } from './stranger.ts';

let scratch: Scratch;
let ours: Authority;
let theirs: Authority;
const certificates = new Map<string, PeerTls>();

beforeAll(async () => {
  scratch = await makeScratch('peer-tls');
  ours = await new Authority(scratch.path, 'ours').make();
  theirs = await new Authority(scratch.path, 'theirs').make();
  certificates.set('a', await ours.certify('a'));
  certificates.set('b', await ours.certify('whoever', ['b', 'other']));
  certificates.set('c', await ours.certify('c', ['c']));
});
afterAll(() => scratch.remove());

const security = (id: string): { readonly tls: PeerTls } => ({ tls: certificates.get(id)! });

describe('members over TLS', () => {
  it('elect a leader, with certificates for their ids', async () => {
    await using group = await TcpGroup.elected(['a', 'b', 'c'], { security });
    expect((await group.leader()).isValid()).toBe(true);
  });

  it('send the host name that they dial (SNI), but no IP address', async () => {
    const names: unknown[] = [];
    const server = createServer(certificatesOf(await ours.certify('b')));
    server.on('secureConnection', (socket) => {
      names.push(socket.on('error', () => {}).servername);
      socket.destroy();
    });
    await once(server.listen(0, 'localhost'), 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    const { port, address: ip } = address;
    const host = isIPv6(ip) ? `[${ip}]` : ip;
    await using group = await TcpGroup.make(['a', 'b'], { security });
    const connects = async (endpoint: string, expected: string | false): Promise<void> => {
      await using transport = group.transport('a', { members: { ...group.addresses, b: `${endpoint}:${port}` } });
      await transport.election('controller').open({ memberId: 'a', members: group.ids, receive: () => {} });
      await until(() => names.includes(expected), { what: `${endpoint} is told ${expected}` });
    };
    await connects('localhost', 'localhost');
    names.length = 0;
    await connects(host, false);
    server.close();
  });

  it('may have certificates for other names, with `nameOf`', async () => {
    const nameOf = (id: string): string => `${id}.members.example`;
    const named = new Map<string, PeerTls>();
    for (const id of ['a', 'b']) named.set(id, await ours.certify(nameOf(id), [nameOf(id)], nameOf));
    await using group = await TcpGroup.elected(['a', 'b'], { security: (id) => ({ tls: named.get(id)! }) });
    expect((await group.leader()).isValid()).toBe(true);
  });

  it('refuse another name, another authority, no certificate and no TLS; the leader stays leader', async () => {
    await using group = await TcpGroup.make(['0', 'a', 'b', 'c'], { security, transport: { handshakeTimeoutMs: 1_000 } });
    for (const id of ['a', 'b', 'c']) group.start(id);
    const leader = await group.leader();
    const target = group.of('c').transport;
    const tryAs = async (memberId: string, options: Partial<TcpTransportOptions>): Promise<TcpTransport> => {
      const transport = group.transport(memberId, { listen: `${LOOPBACK}:${await freePort()}`, ...options });
      await transport.election('controller').open({ memberId, members: group.ids, receive: () => {} });
      return transport;
    };
    let count = 0;
    const names = [['a'], ['*'], ['A0', '.0'], ['00'], ['x.0', '0.x']] as const;
    const wrong: PeerTls[] = [];
    for (const [i, list] of names.entries()) wrong.push(await ours.certify(`wrong-${i}`, list));
    wrong.push(await ours.certify('0', ['0'], undefined, 'serverAuth'));
    const untrusted = { ...(await theirs.certify('0')), ca: certificates.get('a')!.ca };
    for (const tls of [...wrong, untrusted]) {
      await using impostor = await tryAs('0', { tls });
      await refusals(target, 'certificate', (count += 1));
      expect(impostor.connected).not.toContain('c');
      count = target.refused.certificate;
    }
    const bare = connect({ port: group.ports.get('c')!, host: LOOPBACK, rejectUnauthorized: false }).on('error', () => {});
    await once(bare.resume(), 'close');
    await refusals(target, 'certificate', count + 1);
    // They also refuse a member that they dial if its certificate has another name or another
    // authority.
    await using misled = await tryAs('0', { tls: await ours.certify('0'), members: { ...group.addresses, b: group.addresses['c']! } });
    await refusals(misled, 'certificate');
    await using distrustful = await tryAs('0', { tls: await theirs.certify('0') });
    await refusals(distrustful, 'certificate');
    const { notThisProtocol } = target.refused;
    using plain = new Stranger(group.ports.get('c')!).say(PREFACE);
    await plain.closed;
    expect(target.refused.notThisProtocol).toBe(notThisProtocol + 1);
    expect(leader.isValid()).toBe(true);
    expect((await group.leader()).term).toBe(leader.term);
  });
});

describe('a session of TLS', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)('of %s cannot be resumed in place of a certificate', async (version) => {
    await using group = await TcpGroup.make(['a', 'c'], { security, transport: { handshakeTimeoutMs: 1_000 } });
    const target = group.transport('c');
    await target.election('controller').open({ memberId: 'c', members: group.ids, receive: () => {} });
    const address = { port: group.ports.get('c')!, host: LOOPBACK, minVersion: version, maxVersion: version, rejectUnauthorized: false };
    let session: Buffer | undefined;
    const trusted = connect({ ...address, ...certificatesOf(certificates.get('a')!) }).on('error', () => {});
    trusted.on('session', (latest) => (session = latest));
    // The connection ends when the member has not introduced itself in time.
    await once(trusted.resume(), 'close');
    await refusals(target, 'handshakeTimeout');
    connect({ ...address, session })
      .on('error', () => {})
      .resume();
    await refusals(target, 'certificate');
    expect(target.refused.handshakeTimeout).toBe(1);
  });
});

describe('a member whose `nameOf` gives no name', () => {
  const noName = (): string => {
    throw new Error('no name');
  };
  const nothing: unknown = () => undefined;

  it.each<[string, NonNullable<PeerTls['nameOf']>, string]>([
    ['throws', noName, 'no name'],
    ['returns undefined', nothing as () => string, 'must be of type string'],
  ])('because it %s closes the connections that it has dialled, and reports them', async (_, nameOf, why) => {
    const server = createServer(certificatesOf(await ours.certify('b')));
    let closed = 0;
    server.on('connection', (socket: Socket) => {
      socket.on('close', () => (closed += 1));
    });
    server.on('secureConnection', (socket) => {
      socket.on('error', () => {}).resume();
    });
    await once(server.listen(0, LOOPBACK), 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    await using group = await TcpGroup.make(['a', 'b'], { security: () => ({ tls: { ...certificates.get('a')!, nameOf } }) });
    const log = logger();
    const members = { ...group.addresses, b: `${LOOPBACK}:${address.port}` };
    await using transport = group.transport('a', { members, logger: log });
    await transport.election('controller').open({ memberId: 'a', members: group.ids, receive: () => {} });
    await until(() => closed >= 2, { what: 'the connections close', withinMs: 10_000 });
    server.close();
    expect(transport.refused.certificate).toBeGreaterThan(0);
    const fields = log.lines.map((line) => line.fields);
    expect(fields).toContainEqual(
      expect.objectContaining({ reason: 'certificate', from: 'b', nameOf: expect.stringContaining(why) as string }),
    );
  });

  it('refuses the members that dial it', async () => {
    await using group = await TcpGroup.make(['a', 'c'], {
      security: (id) => ({ tls: { ...certificates.get(id)!, ...(id === 'c' ? { nameOf: noName } : {}) } }),
    });
    const [caller, target] = [group.transport('a'), group.transport('c')];
    await caller.election('controller').open({ memberId: 'a', members: group.ids, receive: () => {} });
    await target.election('controller').open({ memberId: 'c', members: group.ids, receive: () => {} });
    await refusals(target, 'certificate');
    expect(caller.connected).toEqual([]);
  });
});

describe('a member whose environment turns off certificate checks', () => {
  const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
  afterEach(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });

  it('still refuses untrusted certificates', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    const untrusted = { ...(await theirs.certify('b', ['b'])), ca: certificates.get('a')!.ca };
    await using group = await TcpGroup.make(['a', 'b'], { security: (id) => (id === 'b' ? { tls: untrusted } : security(id)) });
    for (const id of group.ids) group.start(id);
    await refusals(group.of('a').transport, 'certificate', 2);
    expect(group.of('a').transport.connected).toEqual([]);
  });
});

describe('members with another kind of security', () => {
  it('elect a leader with `insecure: true`', async () => {
    await using group = await TcpGroup.elected(['a', 'b'], { security: () => ({ insecure: true }) });
    expect((await group.leader()).isValid()).toBe(true);
  });

  it('refuse members with a different kind', async () => {
    await using group = await TcpGroup.make(['a', 'b'], { security: (id) => (id === 'a' ? { insecure: true } : { secret: SECRET }) });
    for (const id of group.ids) group.start(id);
    await refusals(group.of('b').transport, 'security');
    await refusals(group.of('a').transport, 'refusedThere');
    expect(group.of('b').transport.connected).toEqual([]);
  });
});
