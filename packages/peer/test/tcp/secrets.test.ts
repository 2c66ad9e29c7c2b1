/** The shared secret appears in no transport, error, log or event. */

import diagnosticsChannel from 'node:diagnostics_channel';
import { inspect } from 'node:util';

import type { Logger, TelemetryEvent } from '@incumbent/core';
import { failureOf, MARKER, misplacedIn, type OptionTable, showing, tracesOf } from '@incumbent/test-support/traces';
import { describe, expect, it } from 'vitest';

import {
  MemoryNetwork,
  MemoryStorage,
  PeerMember,
  quorum,
  TcpTransport,
  type PeerMemberOptions,
  type PeerTls,
  type QuorumOptions,
  type TcpTransportOptions,
} from '../../src/index.ts';
import { refusals, TcpGroup } from './group.ts';

const SECRET = `${MARKER}${MARKER}`;

const refusalOf = (options: object): Promise<unknown> => failureOf(() => Reflect.construct(TcpTransport, [options]));

describe('the shared secret', () => {
  const members = { a: 'one:1', b: 'two:2' };

  it.each<[string, object]>([
    ['too short', { memberId: 'a', members, secret: MARKER }],
    ['one of three', { memberId: 'a', members, secret: [SECRET, SECRET, SECRET] }],
    ['too short in a list', { memberId: 'a', members, secret: [SECRET, MARKER] }],
    ['in a list of lists', { memberId: 'a', members, secret: [[SECRET], SECRET] }],
    ['given beside TLS', { memberId: 'a', members, secret: SECRET, tls: {} }],
    ['in place of TLS', { memberId: 'a', members, tls: SECRET }],
    ['in place of the members', { memberId: 'a', members: SECRET, secret: SECRET }],
    ['in the address of a member', { memberId: 'a', members: { ...members, c: `c:${SECRET}@three` }, secret: SECRET }],
    ['given to a member that is not listed', { memberId: 'x', members, secret: SECRET }],
  ])('%s is not shown by the error', async (_, options) => {
    const error = await refusalOf(options);
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
    expect(showing([tracesOf(error)])).toEqual([]);
  });

  it('does not appear in an inspected transport', () => {
    const transport = new TcpTransport({ memberId: 'a', members, secret: SECRET });
    expect(showing([tracesOf(transport)])).toEqual([]);
    expect(tracesOf(transport)).not.toContain(Buffer.from(MARKER).toString('hex').match(/../g)?.join(' '));
  });

  it('appears in no event and no log of members with different secrets', async () => {
    const heard: string[] = [];
    const listener = (message: unknown): void => void heard.push(tracesOf(message));
    const events: readonly TelemetryEvent[] = ['connectionRefused', 'messageRefused', 'peerConnected', 'peerDisconnected', 'peerFailed'];
    const channels = events.map((event) => diagnosticsChannel.channel(`incumbent:${event}`));
    for (const channel of channels) channel.subscribe(listener);
    const log = (fields: object, message: string): void => void heard.push(tracesOf(fields), message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    await using group = await TcpGroup.make(['a', 'b'], { transport: { logger }, security: (id) => ({ secret: `${SECRET} of ${id}` }) });
    for (const id of group.ids) group.start(id);
    await refusals(group.of('b').transport, 'wrongSecret');
    await refusals(group.of('a').transport, 'refusedThere');
    for (const channel of channels) channel.unsubscribe(listener);
    expect(heard.length).toBeGreaterThan(0);
    expect(showing(heard)).toEqual([]);
  });
});

const transport: OptionTable<TcpTransportOptions> = {
  memberId: 'shown',
  members: 'described',
  seeds: 'described',
  address: 'shown',
  listen: 'shown',
  secret: 'described',
  tls: 'described',
  insecure: 'described',
  keepaliveMs: 'described',
  handshakeTimeoutMs: 'described',
  logger: 'described',
  clock: 'described',
  random: 'described',
};
const tls: OptionTable<PeerTls> = { ca: 'described', cert: 'described', key: 'described', nameOf: 'described' };
const member: OptionTable<PeerMemberOptions<'quorum'>> = {
  algorithm: 'described',
  transport: 'described',
  memberId: 'shown',
  storage: 'described',
  position: 'described',
  logger: 'described',
  clock: 'described',
  random: 'described',
};
const votes: OptionTable<QuorumOptions> = {
  members: 'shown',
  electionTimeoutMinMs: 'described',
  electionTimeoutMaxMs: 'described',
  heartbeatEveryMs: 'described',
  drainMs: 'described',
  clockErrorRatio: 'described',
  tieBreak: 'described',
};

/** The transport only checks and stores its options. It opens nothing. */
const makers: readonly (readonly [string, OptionTable<Record<string, unknown>>, (options: object) => unknown])[] = [
  ['TcpTransport', transport, (options) => new TcpTransport({ memberId: 'a', members: { a: 'one:1' }, secret: SECRET, ...options })],
  [
    'TcpTransport with seeds',
    transport,
    (options) => new TcpTransport({ memberId: 'a', seeds: { a: 'one:1' }, secret: SECRET, ...options }),
  ],
  [
    'tls of TcpTransport',
    tls,
    (options) =>
      Reflect.construct(TcpTransport, [{ memberId: 'a', members: { a: 'one:1' }, tls: { ca: '', cert: '', key: '', ...options } }]),
  ],
  ['quorum', votes, (options) => quorum({ members: ['a', 'b', 'c'], ...options })],
  [
    'PeerMember',
    member,
    (options) => {
      const parts = { algorithm: quorum({ members: ['a'] }), transport: new MemoryNetwork(), storage: new MemoryStorage() };
      return new PeerMember({ ...parts, memberId: 'a', ...options });
    },
  ],
];

describe.each(makers)('%s', (_, table, make) => {
  it.each(misplacedIn(table))('does not show the option %s, %o', async (option, value) => {
    const made = await new Promise((resolve) => resolve(make({ [option]: value }))).catch((error: unknown) => error);
    const own = made instanceof Error ? made : undefined;
    expect(showing([tracesOf(own), inspect(made), JSON.stringify(made) ?? ''])).toEqual([]);
  });
});
