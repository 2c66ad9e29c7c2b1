import { expect, it } from 'vitest';

import { judgeNotConnected, type NotConnectedReason } from '@incumbent/network';

const distrust = Object.assign(new Error('no'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });

it.each<[NotConnectedReason, string, unknown?]>([
  ['unreachable', 'UNREACHABLE notSent'],
  ['unreachable', 'UNAUTHENTICATED refused', distrust],
  ['silent', 'UNREACHABLE notSent'],
  ['follower', 'UNAVAILABLE notSent'],
  ['foreign', 'UNSUPPORTED refused'],
  ['refused', 'STORE_FAILED unknown'],
])('a server that is %s: %s', (why, expected, cause) => {
  const [code, outcome] = judgeNotConnected({ kind: 'notConnected', why }, cause, () => ['TOO_LARGE', 'refused']);
  expect(`${code} ${outcome}`).toBe(expected);
});

it("the adapter judges the server's answer", () => {
  const failure = { kind: 'notConnected', why: 'refused', answer: 'wrong password' } as const;
  expect(judgeNotConnected(failure, undefined, (answer) => ['UNAUTHENTICATED', 'refused', answer])).toEqual([
    'UNAUTHENTICATED',
    'refused',
    'wrong password',
  ]);
});
