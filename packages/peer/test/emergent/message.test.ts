/** Members check every incoming message before they use it. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readMessage } from '../../src/emergent/message.ts';

const entry = { memberId: 'a', address: 'at a', incarnation: 7, age: 1, standing: true };
const list = {
  version: 3,
  maker: 'a 7',
  round: 1,
  members: [entry, { ...entry, memberId: 'b', age: 2 }],
  lost: [{ memberId: 'c', address: '' }],
  minorityOf: [],
};
const into = { memberId: 'a', address: 'at a' };

const messages = [
  { type: 'join', incarnation: 7, address: 'at a', standing: true },
  { type: 'waiting', mayFound: true },
  { type: 'seek', coordinator: into },
  { type: 'seek', coordinator: undefined },
  { type: 'update', list },
  { type: 'ack', incarnation: 7, version: 3 },
  { type: 'heartbeat', incarnation: 7, version: 3, maker: 'a 7', coordinator: 'a 7', standing: true },
  { type: 'pull', incarnation: 7, version: 3, maker: 'b 9', standing: false },
  { type: 'current', incarnation: 7, version: 3 },
  { type: 'removed', incarnation: 7 },
  { type: 'missed', incarnation: 7, keys: ['a 7'] },
  { type: 'ask', claim: 1, incarnation: 7, version: 3 },
  { type: 'answer', claim: 1, incarnation: 7, version: 3, coordinator: 'a 7', misses: true, list },
  { type: 'answer', claim: 1, incarnation: 7, version: 3, coordinator: 'a 7', misses: true, list: undefined },
  { type: 'probe', search: 9, list },
  { type: 'invite', search: 9, list },
  { type: 'merge', incarnation: 7, into },
  { type: 'leave', incarnation: 7 },
];

it.each(messages)('$type is read, and unknown fields are dropped', (message) => {
  expect(readMessage({ ...message, besides: 'nothing' })).toEqual(message);
});

it.each(messages)('$type with an invalid field is refused', (message) => {
  for (const [name, value] of Object.entries(message)) {
    if (value === undefined || (message.type === 'seek' && name === 'coordinator')) continue;
    for (const wrong of [null, -1, 1.5, 'x'.repeat(301), {}, [null]])
      expect(readMessage({ ...message, [name]: wrong }), name).toBeUndefined();
  }
});

it('a list without members, with too many members, or with one twice is refused', () => {
  const update = (members: readonly object[]): unknown => readMessage({ type: 'update', list: { ...list, members } });
  expect(update([entry])).toBeDefined();
  expect(update([])).toBeUndefined();
  expect(update([entry, entry])).toBeUndefined();
  expect(update(Array.from({ length: 251 }, (_, i) => ({ ...entry, memberId: `m${i}` })))).toBeUndefined();
});

it('any other data are refused without an error', () => {
  fc.assert(
    fc.property(fc.anything(), fc.constantFrom(...messages), (data, message) => {
      expect(readMessage(data)).toBeUndefined();
      expect(() => readMessage({ ...message, list: data, keys: data, into: data, coordinator: data })).not.toThrow();
    }),
  );
});
