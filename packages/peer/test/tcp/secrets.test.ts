/** The secret that members share is shown by nothing: no transport, no error, no log, no event. */

import diagnosticsChannel from 'node:diagnostics_channel';
import { inspect } from 'node:util';

import type { Logger, TelemetryEvent } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { TcpTransport } from '../../src/index.ts';
import { refusals, TcpGroup } from './group.ts';

const MARKER = 'mKr7Qx2Zt9';
const SECRET = `${MARKER}${MARKER}`;

function shown(value: unknown): string {
  return [inspect(value, { depth: 10, showHidden: true }), JSON.stringify(value), value instanceof Error ? value.stack : ''].join('\n');
}

function failureOf(options: object): unknown {
  try {
    Reflect.construct(TcpTransport, [options]);
  } catch (error) {
    return error;
  }
  throw new Error('nothing failed');
}

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
  ])('%s is not shown by the error', (_, options) => {
    const error = failureOf(options);
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
    expect(shown(error)).not.toContain(MARKER);
  });

  it('is not shown by a transport', () => {
    const transport = new TcpTransport({ memberId: 'a', members, secret: SECRET });
    expect(shown(transport)).not.toContain(MARKER);
    expect(shown(transport)).not.toContain(Buffer.from(MARKER).toString('hex').match(/../g)?.join(' '));
  });

  it('is in no event and no log of members that know different ones', async () => {
    const heard: string[] = [];
    const listener = (message: unknown): void => void heard.push(shown(message));
    const events: readonly TelemetryEvent[] = ['connectionRefused', 'messageRefused', 'peerConnected', 'peerDisconnected', 'peerFailed'];
    const channels = events.map((event) => diagnosticsChannel.channel(`incumbent:${event}`));
    for (const channel of channels) channel.subscribe(listener);
    const log = (fields: object, message: string): void => void heard.push(shown(fields), message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    await using group = await TcpGroup.make(['a', 'b'], { transport: { logger }, security: (id) => ({ secret: `${SECRET} of ${id}` }) });
    for (const id of group.ids) group.start(id);
    await refusals(group.of('b').transport, 'wrongSecret');
    await refusals(group.of('a').transport, 'refusedThere');
    for (const channel of channels) channel.unsubscribe(listener);
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.join('\n')).not.toContain(MARKER);
    expect(heard.join('\n')).not.toContain(Buffer.from(MARKER).toString('hex'));
  });
});
