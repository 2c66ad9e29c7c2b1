import { expect, it } from 'vitest';

import { storedEntryOf } from '../../src/protocol/entries.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

it('an entry without a lease has no remaining time', () => {
  expect(storedEntryOf(['a', '2', '1', '', '-1', 'v'].map(bytes))).toEqual({
    entry: { key: 'a', name: 'a', value: bytes('v'), revision: '2', order: 1n },
    remainingMs: undefined,
  });
});

it('an entry whose lease has no end has no remaining time', () => {
  expect(storedEntryOf(['a', '2', '1', 'l', '-1', 'v'].map(bytes))).toMatchObject({ entry: { lease: 'l' }, remainingMs: undefined });
});

it('an empty list is an absent key', () => {
  expect(storedEntryOf([])).toBeUndefined();
});
