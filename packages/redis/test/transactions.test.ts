import { expect, it } from 'vitest';

import { CAPABILITIES } from '../src/capabilities.ts';
import { swapArgs, swapResult } from '../src/transactions.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

it('each change of a swap is five arguments', () => {
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
    // No key has an empty revision, and none begins with a hyphen.
    ...['f', '-', 'c', 'n', ''],
  ]);
});

it('a swap copies its values', () => {
  const put = bytes('mine');
  const args = swapArgs([{ key: 'a', expect: null, put }]);
  put.fill(0);
  expect(args[4]).toEqual(bytes('mine'));
});

it('the answer says whether the swap was applied, or which condition failed', () => {
  const stored = ['b', '9', '8', '', '-1', 'v'].map(bytes);
  expect(swapResult([bytes('done'), bytes('5'), bytes('')], 2)).toEqual({ swapped: true, revisions: ['5', undefined] });
  expect(swapResult([bytes('failed'), 1, [], 2, stored], 2)).toMatchObject({
    swapped: false,
    failed: [
      { index: 0, current: undefined },
      { index: 1, current: { key: 'b', revision: '9' } },
    ],
  });
  expect(() => swapResult([bytes('lease'), bytes('l1')], 1)).toThrow(
    expect.objectContaining({ code: 'LEASE_EXPIRED', outcome: 'refused' }),
  );
  for (const odd of [[bytes('done')], [bytes('what')], [1], bytes('done')]) expect(() => swapResult(odd, 1)).toThrow(/cannot be read/);
});

it('a value that is too long and a swap of too many changes are refused', () => {
  const tooLarge = expect.objectContaining({ code: 'TOO_LARGE', outcome: 'refused' });
  expect(() => swapArgs([{ key: 'a', expect: null, put: new Uint8Array(CAPABILITIES.maxValueBytes + 1) }])).toThrow(tooLarge);
  expect(() => swapArgs(Array.from({ length: 129 }, (_, i) => ({ key: `${i}`, expect: null })))).toThrow(tooLarge);
});
