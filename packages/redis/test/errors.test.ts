import { StoreError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { closedMeanwhile, endsWatch, mildestOf, toStoreError } from '../src/errors.ts';
import { answeredWith, ExchangeError, notConnected, type Failure } from '../src/protocol/failure.ts';
import { ErrorReply } from '../src/protocol/resp.ts';

function failure(kind: Failure): ExchangeError {
  return new ExchangeError(kind, 'words');
}

function answer(text: string): ExchangeError {
  return answeredWith(new ErrorReply(text));
}

function unreachable(code: string): ExchangeError {
  return notConnected('unreachable', 'words', Object.assign(new Error(code), { code }));
}

function verdict(error: unknown): string {
  const { code, outcome } = toStoreError(error, 'read');
  return `${code} ${outcome}`;
}

const IN_SCRIPT = ` script: ${'0a'.repeat(20)}, on @user_script:12.`;

describe('what a failure means', () => {
  it.each([
    ['a server that reads what it keeps', answer('LOADING Redis is loading the dataset in memory'), 'UNAVAILABLE notSent'],
    ['a server that runs another script', answer('BUSY Redis is busy running a script.'), 'UNAVAILABLE notSent'],
    ['a replica', answer("READONLY You can't write against a read only replica."), 'UNAVAILABLE notSent'],
    ['a slot that is elsewhere', answer('MOVED 3999 127.0.0.1:6381'), 'UNAVAILABLE notSent'],
    ['memory that is full', answer("OOM command not allowed when used memory > 'maxmemory'."), 'UNAVAILABLE refused'],
    ['a disk that fails', answer('MISCONF Redis is configured to save RDB snapshots'), 'UNAVAILABLE refused'],
    ['replicas that are missing', answer('NOREPLICAS Not enough good replicas to write.'), 'UNAVAILABLE refused'],
    ['a missing right', answer("NOPERM this user has no permissions to run the 'evalsha' command"), 'PERMISSION_DENIED refused'],
    ['a missing right, in the middle', answer(`NOPERM No permissions to access a key${IN_SCRIPT}`), 'PERMISSION_DENIED unknown'],
    ['memory that is full, in the middle', answer(`OOM command not allowed${IN_SCRIPT}`), 'STORE_FAILED unknown'],
    ['a mistake of a script', answer(`ERR attempt to index a nil value${IN_SCRIPT}`), 'STORE_FAILED unknown'],
    ['what nobody foresaw', answer('WEIRD words'), 'STORE_FAILED unknown'],
    ['a login that has ended', answer('NOAUTH Authentication required.'), 'UNAUTHENTICATED refused'],
    ['a connection that went', failure({ kind: 'cut' }), 'CONNECTION_LOST unknown'],
    ['an answer that nobody understands', failure({ kind: 'malformed' }), 'STORE_FAILED unknown'],
    ['no answer in time', failure({ kind: 'timeout', sent: true }), 'TIMEOUT unknown'],
    ['no connection in time', failure({ kind: 'timeout', sent: false }), 'UNREACHABLE notSent'],
    ['a store that was closed', failure({ kind: 'closed', sent: false }), 'STORE_CLOSED notSent'],
    ['one that was closed meanwhile', failure({ kind: 'closed', sent: true }), 'STORE_CLOSED unknown'],
    ['a server that is silent', notConnected('silent', 'words'), 'UNREACHABLE notSent'],
    ['a refused connection', unreachable('ECONNREFUSED'), 'UNREACHABLE notSent'],
    ['a name that is not known', unreachable('ENOTFOUND'), 'UNREACHABLE notSent'],
    ['a certificate that nobody vouches for', unreachable('SELF_SIGNED_CERT_IN_CHAIN'), 'UNAUTHENTICATED refused'],
    ['a certificate of another name', unreachable('ERR_TLS_CERT_ALTNAME_INVALID'), 'UNAUTHENTICATED refused'],
    ['no TLS', unreachable('ERR_SSL_WRONG_VERSION_NUMBER'), 'UNSUPPORTED refused'],
    ['a mistake of ours', new TypeError('words'), 'STORE_FAILED unknown'],
    ['a rejection that is no error', 'words', 'STORE_FAILED unknown'],
  ])('%s', (_, error, expected) => {
    expect(verdict(error)).toBe(expected);
  });

  it('keeps the error, and what is one of the contract', () => {
    const cause = answer('OOM no');
    expect(toStoreError(cause, 'read')).toMatchObject({ cause, message: 'redis read: OOM no' });
    const own = new StoreError('TOO_LARGE', 'refused', 'words');
    expect(toStoreError(own, 'read')).toBe(own);
  });
});

it('of several servers, the one that may serve soon is told of', () => {
  const [replica, gone, wrong] = [notConnected('replica', 'r'), unreachable('ECONNREFUSED'), notConnected('foreign', 'f')];
  expect(mildestOf([wrong, gone, replica])).toBe(replica);
  expect(mildestOf([wrong, gone])).toBe(gone);
  expect(mildestOf([wrong])).toBe(wrong);
});

it('a watch ends over what stays', () => {
  const ends = (error: unknown): boolean => endsWatch(toStoreError(error, 'watch'));
  expect(['NOPERM no', 'NOAUTH no', 'LOADING no', 'READONLY no'].map((text) => ends(answer(text)))).toEqual([true, true, false, false]);
  expect(endsWatch(new Error('NOPERM'))).toBe(false);
});

it('while the store is closed, that is what every error says', () => {
  expect(closedMeanwhile(failure({ kind: 'cut' }), 'read')).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  expect(closedMeanwhile(answer('OOM no'), 'read')).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent' });
});
