import { StoreError } from '@incumbent/core';
import { endsWatch } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { mildestError, toStoreError } from '../src/errors.ts';
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

describe('the code and the outcome of', () => {
  it.each([
    ['a server that is loading its data', answer('LOADING Redis is loading the dataset in memory'), 'UNAVAILABLE notSent'],
    ['a server that runs another script', answer('BUSY Redis is busy running a script.'), 'UNAVAILABLE notSent'],
    ['a replica', answer("READONLY You can't write against a read only replica."), 'UNAVAILABLE notSent'],
    ['a slot of another server', answer('MOVED 3999 127.0.0.1:6381'), 'UNAVAILABLE notSent'],
    ['a full memory', answer("OOM command not allowed when used memory > 'maxmemory'."), 'UNAVAILABLE refused'],
    ['a disk that fails', answer('MISCONF Redis is configured to save RDB snapshots'), 'UNAVAILABLE refused'],
    ['missing replicas', answer('NOREPLICAS Not enough good replicas to write.'), 'UNAVAILABLE refused'],
    ['a missing permission', answer("NOPERM this user has no permissions to run the 'evalsha' command"), 'PERMISSION_DENIED refused'],
    ['a missing permission within a script', answer(`NOPERM No permissions to access a key${IN_SCRIPT}`), 'PERMISSION_DENIED unknown'],
    ['a full memory within a script', answer(`OOM command not allowed${IN_SCRIPT}`), 'STORE_FAILED unknown'],
    ['a defect of a script', answer(`ERR attempt to index a nil value${IN_SCRIPT}`), 'STORE_FAILED unknown'],
    ['an unforeseen answer', answer('WEIRD words'), 'STORE_FAILED unknown'],
    ['a login that has ended', answer('NOAUTH Authentication required.'), 'UNAUTHENTICATED refused'],
    ['a connection that ended', failure({ kind: 'cut' }), 'CONNECTION_LOST unknown'],
    ['an answer that cannot be read', failure({ kind: 'malformed' }), 'STORE_FAILED unknown'],
    ['no answer in time', failure({ kind: 'timeout', sent: true }), 'TIMEOUT unknown'],
    ['no connection in time', failure({ kind: 'timeout', sent: false }), 'UNREACHABLE notSent'],
    ['a store that was closed', failure({ kind: 'closed', sent: false }), 'STORE_CLOSED notSent'],
    ['a store that was closed during the call', failure({ kind: 'closed', sent: true }), 'STORE_CLOSED unknown'],
    ['a server that is silent', notConnected('silent', 'words'), 'UNREACHABLE notSent'],
    ['a refused connection', unreachable('ECONNREFUSED'), 'UNREACHABLE notSent'],
    ['an unknown host name', unreachable('ENOTFOUND'), 'UNREACHABLE notSent'],
    ['a certificate of an unknown authority', unreachable('SELF_SIGNED_CERT_IN_CHAIN'), 'UNAUTHENTICATED refused'],
    ['a certificate of another host', unreachable('ERR_TLS_CERT_ALTNAME_INVALID'), 'UNAUTHENTICATED refused'],
    ['a server without TLS', unreachable('ERR_SSL_WRONG_VERSION_NUMBER'), 'UNSUPPORTED refused'],
    ['a defect of this package', new TypeError('words'), 'STORE_FAILED unknown'],
    ['a rejection that is not an Error', 'words', 'STORE_FAILED unknown'],
  ])('%s', (_, error, expected) => {
    expect(verdict(error)).toBe(expected);
  });

  it('keeps the error as the cause, and returns a StoreError unchanged', () => {
    const cause = answer('OOM no');
    expect(toStoreError(cause, 'read')).toMatchObject({ cause, message: 'redis read: OOM no' });
    const own = new StoreError('TOO_LARGE', 'refused', 'words');
    expect(toStoreError(own, 'read')).toBe(own);
  });
});

it('of several servers, the error that a retry is most likely to pass is reported', () => {
  const [replica, gone, foreign] = [notConnected('follower', 'r'), unreachable('ECONNREFUSED'), notConnected('foreign', 'f')];
  expect(mildestError([foreign, gone, replica])).toBe(replica);
  expect(mildestError([foreign, gone])).toBe(gone);
  expect(mildestError([foreign])).toBe(foreign);
});

it('a watch ends at errors that a retry would meet again', () => {
  const ends = (error: unknown): boolean => endsWatch(toStoreError(error, 'watch'));
  expect(['NOPERM no', 'NOAUTH no', 'LOADING no', 'READONLY no'].map((text) => ends(answer(text)))).toEqual([true, true, false, false]);
});
