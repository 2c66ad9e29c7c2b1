import { expect, it } from 'vitest';

import { fieldsIn, readChanges } from '../../src/protocol/changes.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** As scripts write it. */
function message(...words: readonly (string | Uint8Array)[]): Uint8Array {
  return new Uint8Array(Buffer.concat(words.flatMap((word) => [Buffer.from(`${Buffer.from(word).length}:`), Buffer.from(word)])));
}

it('a message is read field by field, whatever the bytes of the values', () => {
  const value = new Uint8Array([0, 58, 255, 49, 58]);
  const entry = { key: 'a/c', name: 'c', value, revision: '12', order: 11n, lease: 'l1' };
  expect(readChanges(fieldsIn(message('d', 'a/b', 'p', 'a/c', '12', '11', 'l1', '900', value, 'u', 'a/d')))).toEqual([
    { kind: 'deleted', key: 'a/b' },
    { kind: 'put', key: 'a/c', stored: { entry, remainingMs: 900 } },
    { kind: 'changed', key: 'a/d' },
  ]);
});

it.each(['1:x3:a/b', '9:d', 'd', '-1:d', '1:p3:a/b'])('the message %s cannot be read', (text) => {
  expect(() => readChanges(fieldsIn(bytes(text)))).toThrow(/cannot be read/);
});
