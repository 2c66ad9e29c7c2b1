/**
 * The options and messages of the best-effort algorithms: which ones are refused, and with which
 * error.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bully, candidateOrdinary, invitation, nextInLine, ring, type BestEffortMessage } from '../src/index.ts';
import { encodePacket } from '../src/tcp/codec.ts';
import { CONTENT_BYTES } from '../src/tcp/connection.ts';
import { algorithmOf, names, type Name, type Options } from './best-effort/algorithms.ts';

const members = ['a', 'b', 'c'];

function configurationOf(name: Name, options: Partial<Options>): string {
  return algorithmOf(name, { members, candidates: members, delayStepMs: 300, ...options }).configuration;
}

/** Values that a caller without TypeScript may pass. */
function any<T>(value: unknown): T {
  return value as T;
}

describe('an invalid option throws an error that names the option, its value and the range', () => {
  it.each(names)('%s: options that all algorithms have', (name) => {
    const make = (options: object) => (): unknown => algorithmOf(name, any({ members, candidates: members, ...options }));
    expect(make({ members: [], candidates: ['a'] })).toThrow('members is an array of 0: it must be a list of 1 to 255 member ids');
    expect(make({ members: ['a', 'a'] })).toThrow('members is "a": it must be listed once');
    expect(make({ members: ['a b'] })).toThrow('members is "a b"');
    expect(make({ members: Array.from({ length: 21 }, (_, i) => `${i}`.padEnd(100, 'x')) })).toThrow('together at most: these have 2100');
    expect(make({ failureTimeoutMs: 49 })).toThrow('failureTimeoutMs is 49: it must be a number from 50 to 600000');
    expect(make({ heartbeatEveryMs: 400 })).toThrow('heartbeatEveryMs is 400: it must be a number from 20 to 333.3333333333333');
    expect(make({ answerTimeoutMs: 5 })).toThrow('answerTimeoutMs is 5: it must be a number from 10 to 500');
    expect(make({ drainMs: 251 })).toThrow('drainMs is 251: it must be a number from 0 to 250');
    expect(make({ failureTimeOutMs: 1_000 })).toThrow('there is no');
    expect(make({ failureTimeoutMs: 200, heartbeatEveryMs: 200 / 3 })).not.toThrow();
  });

  it('options that only one algorithm has', () => {
    expect(() => bully({ members, forgiveMs: 1 })).toThrow('forgiveMs is 1: it must be a number from 1000 to 10000000');
    expect(() => nextInLine({ members, successors: 0 })).toThrow('successors is 0: it must be a number from 1 to 16');
    expect(() => candidateOrdinary(any({ members }))).toThrow('candidates is undefined: it must be a list of some of the members');
    expect(() => candidateOrdinary({ members, candidates: ['d'] })).toThrow('candidates is "d": it must be some of the members: a, b, c');
    expect(() => candidateOrdinary({ members, candidates: ['a'], delayStepMs: 200 })).toThrow('delayStepMs is 200');
    expect(() => invitation({ members, inviteEveryMs: 1 })).toThrow('inviteEveryMs is 1: it must be a number from 50 to 10000');
    expect(() => ring({ members, variant: any('live') })).toThrow(
      'variant is a string of 4 characters: it must be one of "live-set", "maximum"',
    );
  });

  it('an algorithm refuses the options of another algorithm', () => {
    expect(() => ring(any({ members, forgiveMs: 1_000 }))).toThrow('there is no ring option "forgiveMs"');
  });
});

describe('a message is checked before it is used', () => {
  const heartbeat = { type: 'heartbeat', round: 1, weight: 0, successors: ['b'], failures: [{ id: 'c', round: 1, count: 0.5 }] };
  const collect = { type: 'collect', round: 1, initiator: 'a', attempt: 7, hops: 1, live: ['a'] };

  it('a valid message is read, and unknown fields are dropped', () => {
    expect(bully({ members }).readMessage({ ...heartbeat, more: 1 })).toEqual(heartbeat);
    expect(ring({ members }).readMessage(collect)).toEqual(collect);
  });

  it('a message of another algorithm is refused', () => {
    expect(bully({ members }).readMessage(collect)).toBeUndefined();
    expect(ring({ members }).readMessage({ type: 'election', round: 1 })).toBeUndefined();
  });

  it.each([
    { ...heartbeat, round: -1 },
    { ...heartbeat, round: 2 ** 53 },
    { ...heartbeat, weight: 0.5 },
    { ...heartbeat, successors: ['stranger'] },
    { ...heartbeat, successors: ['a', 'b', 'c', 'a'] },
    { ...heartbeat, failures: [{ id: 'c', round: 1, count: Infinity }] },
    { ...heartbeat, failures: Array.from({ length: 17 }, () => ({ id: 'c', round: 1, count: 1 })) },
    { type: 'elected', round: 1, leader: 'stranger', weight: 0 },
    { type: 'constructor', round: 1 },
  ])('%j is none', (message) => {
    expect(bully({ members }).readMessage(message)).toBeUndefined();
  });

  it('any other data are refused without an error', () => {
    const algorithms = names.map((name) => algorithmOf(name, { members, candidates: members }));
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true }), (data) => {
        for (const { readMessage } of algorithms) expect(readMessage(data)).toBeUndefined();
      }),
    );
  });

  it.each([
    ['many', Array.from({ length: 255 }, (_, i) => `n${i}`.padEnd(7, 'x'))],
    ['long', Array.from({ length: 15 }, (_, i) => `n${i}`.padEnd(128, 'x'))],
  ])('the longest of them fits into a frame of the transport over TCP: %s ids', (_, ids) => {
    const failures = ids.slice(0, 16).map((id) => ({ id, round: 2 ** 52, count: 999.999 }));
    const successors = ids.slice(0, 16);
    const longest: Readonly<Record<Name, readonly BestEffortMessage[]>> = {
      bully: [{ type: 'heartbeat', round: 2 ** 52, weight: -999, successors: [], failures }],
      nextInLine: [{ type: 'heartbeat', round: 2 ** 52, weight: -999, successors, failures }],
      candidateOrdinary: [{ type: 'elected', round: 2 ** 52, leader: ids[0]!, weight: 0 }],
      invitation: [{ type: 'handover', round: 2 ** 52, group: ids }],
      ring: [{ type: 'collect', round: 2 ** 52, initiator: ids[0]!, attempt: 2 ** 32, hops: 255, live: ids }],
    };
    for (const name of names) {
      const { configuration, readMessage } = algorithmOf(name, { members: ids, candidates: ids });
      for (const message of longest[name]) {
        expect(readMessage(message)).toEqual(message);
        expect(encodePacket({ election: 'e'.repeat(128), configuration, message }).length).toBeLessThanOrEqual(CONTENT_BYTES);
      }
    }
  });

  it.each<[Name, Partial<Options>]>([
    ['bully', { forgiveMs: 20_000 }],
    ['nextInLine', { forgiveMs: 20_000 }],
    ['candidateOrdinary', { candidates: ['a'] }],
    ['candidateOrdinary', { delayStepMs: 400 }],
    ['ring', { variant: 'maximum' }],
    ...names.flatMap((name): readonly [Name, Partial<Options>][] => [
      [name, { members: ['b', 'a', 'c'] }],
      [name, { members: ['a', 'b'], candidates: ['a', 'b'] }],
      [name, { failureTimeoutMs: 1_001 }],
    ]),
  ])('%s: members refuse each other if only one of them has %j', (name, options) => {
    expect(configurationOf(name, options)).not.toBe(configurationOf(name, {}));
  });

  it.each<[Name, Partial<Options>]>([
    ['nextInLine', { successors: 1 }],
    ['invitation', { inviteEveryMs: 100 }],
    ...names.map((name): [Name, Partial<Options>] => [name, { heartbeatEveryMs: 100, drainMs: 0 }]),
    ...names.filter((name) => name !== 'candidateOrdinary').map((name): [Name, Partial<Options>] => [name, { answerTimeoutMs: 100 }]),
  ])('%s: members do not compare %j', (name, options) => {
    expect(configurationOf(name, options)).toBe(configurationOf(name, {}));
  });

  it('members of different algorithms refuse each other', () => {
    expect(new Set(names.map((name) => configurationOf(name, {}))).size).toBe(names.length);
  });
});
