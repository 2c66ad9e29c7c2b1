import { describe, expect, it } from 'vitest';

import { readChanges, wordsIn } from '../../src/protocol/changes.ts';
import { rowOf } from '../../src/namespace.ts';
import { readSeal } from '../../src/protocol/signature.ts';
import { swapArgs, swapResult, enqueued, MAX_VALUE_BYTES } from '../../src/transactions.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** As scripts write it. */
function message(...words: readonly (string | Uint8Array)[]): Uint8Array {
  return new Uint8Array(Buffer.concat(words.flatMap((word) => [Buffer.from(`${Buffer.from(word).length}:`), Buffer.from(word)])));
}

describe('what scripts tell', () => {
  it('is read word by word, whatever their bytes', () => {
    const value = new Uint8Array([0, 58, 255, 49, 58]);
    expect(readChanges(wordsIn(message('d', 'a/b', 'p', 'a/c', '12', '11', 'l1', '900', value, 'u', 'a/d')))).toEqual([
      { kind: 'gone', key: 'a/b' },
      { kind: 'put', key: 'a/c', row: { entry: { key: 'a/c', name: 'c', value, revision: '12', order: 11n, lease: 'l1' }, leftMs: 900 } },
      { kind: 'changed', key: 'a/d' },
    ]);
  });

  it.each(['1:x3:a/b', '9:d', 'd', '-1:d', '1:p3:a/b'])('that is %s is not understood', (text) => {
    expect(() => readChanges(wordsIn(bytes(text)))).toThrow(/cannot be understood/);
  });
});

describe('what changes are signed with', () => {
  it.each([[], ['secret'], ['', '1'], ['secret', ''], ['secret', 'x'], ['secret', '-1'], ['secret', '1e3'], ['secret', '9'.repeat(20)]])(
    'is not understood where it is %j %j',
    (...words) => {
      expect(() => readSeal(words.map(bytes))).toThrow(/cannot be understood/);
    },
  );

  it('is a secret, and the last stamp that was given', () => {
    expect(readSeal(['secret', '1700000000000000'].map(bytes)).last).toBe(1_700_000_000_000_000n);
  });
});

describe('an entry', () => {
  it('lives until deleted where it has no lease, and has no time where its lease lasts', () => {
    expect(rowOf(['a', '2', '1', '', '-1', 'v'].map(bytes))).toEqual({
      entry: { key: 'a', name: 'a', value: bytes('v'), revision: '2', order: 1n },
      leftMs: undefined,
    });
    expect(rowOf(['a', '2', '1', 'l', '-1', 'v'].map(bytes))).toMatchObject({ entry: { lease: 'l' }, leftMs: undefined });
    expect(rowOf([])).toBeUndefined();
  });
});

describe('a swap', () => {
  it('is five words a change', () => {
    const args = swapArgs([
      { key: 'a', expect: null, put: bytes('1'), lease: 'l' },
      { key: 'b', expect: '7', put: bytes('2') },
      { key: 'c', expect: '7', put: bytes('3'), lease: null },
      { key: 'd', expect: '8', delete: true },
      { key: 'e', expect: null },
      { key: 'f', expect: '' },
    ]);
    expect(args).toEqual([
      ...['a', '', 'p', 'll', bytes('1')],
      ...['b', '7', 'p', 'k', bytes('2')],
      ...['c', '7', 'p', 'n', bytes('3')],
      ...['d', '8', 'd', 'n', ''],
      ...['e', '', 'c', 'n', ''],
      // No revision is empty, and none begins with a hyphen.
      ...['f', '-', 'c', 'n', ''],
    ]);
  });

  it('takes its own copy of what it writes', () => {
    const put = bytes('mine');
    const args = swapArgs([{ key: 'a', expect: null, put }]);
    put.fill(0);
    expect(args[4]).toEqual(bytes('mine'));
  });

  it('is told as it went', () => {
    const row = ['b', '9', '8', '', '-1', 'v'].map(bytes);
    expect(swapResult([bytes('done'), bytes('5'), bytes('')], 2)).toEqual({ swapped: true, revisions: ['5', undefined] });
    expect(swapResult([bytes('failed'), 1, [], 2, row], 2)).toMatchObject({
      swapped: false,
      failed: [
        { index: 0, current: undefined },
        { index: 1, current: { key: 'b', revision: '9' } },
      ],
    });
    expect(() => swapResult([bytes('lease'), bytes('l1')], 1)).toThrow(
      expect.objectContaining({ code: 'LEASE_EXPIRED', outcome: 'refused' }),
    );
    for (const odd of [[bytes('done')], [bytes('what')], [1], bytes('done')]) expect(() => swapResult(odd, 1)).toThrow(/understood/);
  });

  it('refuses what is too long or too much', () => {
    const tooLarge = expect.objectContaining({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(() => swapArgs([{ key: 'a', expect: null, put: new Uint8Array(MAX_VALUE_BYTES + 1) }])).toThrow(tooLarge);
    expect(() => swapArgs(Array.from({ length: 129 }, (_, i) => ({ key: `${i}`, expect: null })))).toThrow(tooLarge);
  });
});

it('an entry of the queue is the one that is there, unless that is another’s', () => {
  const row = ['q/a', '2', '1', 'l', '500', 'v'].map(bytes);
  expect(enqueued([bytes('done'), row], 'q/a', 'l')).toMatchObject({ key: 'q/a', lease: 'l' });
  expect(() => enqueued([bytes('lease')], 'q/a', 'l')).toThrow(expect.objectContaining({ code: 'LEASE_EXPIRED' }));
  expect(() => enqueued([bytes('taken')], 'q/a', 'l')).toThrow(expect.objectContaining({ code: 'STORE_FAILED', outcome: 'refused' }));
  expect(() => enqueued([bytes('done'), []], 'q/a', 'l')).toThrow(/understood/);
});
