import { expect, it } from 'vitest';

import { FailedExchange, judgeNotConnected, namingEndpoint, type NotConnected, type NotConnectedReason } from '@incumbent/network';

class ExchangeError extends FailedExchange<NotConnected<string>> {}

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

it('a certificate of an unknown authority: the message says how to name the authority', () => {
  const [, , hint] = judgeNotConnected({ kind: 'notConnected', why: 'unreachable' }, distrust, () => ['TOO_LARGE', 'refused']);
  expect(hint).toContain('?ca=file');
});

it("the adapter judges the server's answer", () => {
  const failure = { kind: 'notConnected', why: 'refused', answer: 'wrong password' } as const;
  expect(judgeNotConnected(failure, undefined, (answer) => ['UNAUTHENTICATED', 'refused', answer])).toEqual([
    'UNAUTHENTICATED',
    'refused',
    'wrong password',
  ]);
});

it.each([
  ['connect ECONNREFUSED 127.0.0.1:7', 'connect ECONNREFUSED 127.0.0.1:7'],
  ['the server is a follower', '127.0.0.1:7: the server is a follower'],
])('an error names the server once: %s', (message, named) => {
  const attempt = { endpoint: { host: '127.0.0.1', port: 7 }, timeoutMs: 1_000, hint: '' };
  const error = new ExchangeError({ kind: 'notConnected', why: 'unreachable' }, message);
  expect(namingEndpoint(ExchangeError, error, attempt)).toMatchObject({ message: named });
});
