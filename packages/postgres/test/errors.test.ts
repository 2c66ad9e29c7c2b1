/** Each error of PostgreSQL and of the connection, with its code and its outcome. */

import type { NotConnectedReason } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { cut, ExchangeError, malformed, notConnected } from '../src/client/failure.ts';
import { mildestError, toStoreError, withMissingGrant } from '../src/errors.ts';

const answered = (state: string): ExchangeError => new ExchangeError({ kind: 'answer', answer: { state, text: `no (${state})` } }, 'no');
const refused = (state: string): ExchangeError =>
  new ExchangeError({ kind: 'notConnected', why: 'refused', answer: { state, text: 'no' } }, 'no');

const verdict = (error: unknown, method = 'read'): unknown => {
  const { code, outcome } = toStoreError(error, method);
  return [code, outcome];
};

describe('an error answer to a call', () => {
  it.each([
    ['a standby', 'IC001', 'UNAVAILABLE', 'notSent'],
    ['a call that waited too long', 'IC002', 'UNAVAILABLE', 'notSent'],
    ['an answer that would be too long', 'IC003', 'TOO_LARGE', 'refused'],
    ['a read-only transaction', '25006', 'UNAVAILABLE', 'notSent'],
    ['a lock that was not free in time', '55P03', 'UNAVAILABLE', 'notSent'],
    ['a serialization failure', '40001', 'UNAVAILABLE', 'notSent'],
    ['a deadlock', '40P01', 'UNAVAILABLE', 'notSent'],
    ['an end that the server does not know', '40003', 'UNAVAILABLE', 'unknown'],
    ['a cancelled statement', '57014', 'UNAVAILABLE', 'notSent'],
    ['a shutdown', '57P01', 'UNAVAILABLE', 'unknown'],
    ['a crash', '57P02', 'UNAVAILABLE', 'unknown'],
    ['the end of an idle session', '57P05', 'UNAVAILABLE', 'unknown'],
    ['the end of the time of a transaction', '25P04', 'UNAVAILABLE', 'unknown'],
    ['a start', '57P03', 'UNAVAILABLE', 'notSent'],
    ['too many connections', '53300', 'UNAVAILABLE', 'notSent'],
    ['a full disk, maybe of the log during the commit', '53100', 'UNAVAILABLE', 'unknown'],
    ['a lack of memory', '53200', 'UNAVAILABLE', 'unknown'],
    ['a failed write or flush of a file', '58030', 'UNAVAILABLE', 'unknown'],
    ['an internal error', 'XX000', 'UNAVAILABLE', 'unknown'],
    ['a pooler that lost the server', '08P01', 'CONNECTION_LOST', 'unknown'],
    ['a missing right', '42501', 'PERMISSION_DENIED', 'refused'],
    ['a missing schema', '3F000', 'UNAVAILABLE', 'notSent'],
    ['a missing table', '42P01', 'UNAVAILABLE', 'notSent'],
    ['a missing function', '42883', 'UNAVAILABLE', 'notSent'],
    ['a missing column', '42703', 'UNAVAILABLE', 'notSent'],
    ['a damaged table', 'XX001', 'CORRUPT', 'unknown'],
    ['a full queue of notifications', '54000', 'UNAVAILABLE', 'notSent'],
    ['any other error', '22P02', 'STORE_FAILED', 'refused'],
  ])('for %s (%s) is %s, %s', (_, state, code, outcome) => {
    expect(verdict(answered(state))).toEqual([code, outcome]);
  });

  it('is found in the message, with its SQLSTATE as the cause', () => {
    const error = toStoreError(answered('55P03'), 'renewLease');
    expect(error.message).toBe('postgres renewLease: no');
    expect(error.cause).toBeInstanceOf(ExchangeError);
  });
});

describe('an error answer to the login', () => {
  it.each([
    ['28P01', 'UNAUTHENTICATED', 'refused'],
    ['28000', 'UNAUTHENTICATED', 'refused'],
    ['3D000', 'UNAVAILABLE', 'notSent'],
    ['42501', 'PERMISSION_DENIED', 'refused'],
    ['53300', 'UNAVAILABLE', 'notSent'],
    ['57P03', 'UNAVAILABLE', 'notSent'],
    ['08P01', 'UNAVAILABLE', 'notSent'],
  ])('%s is %s, %s', (state, code, outcome) => {
    expect(verdict(refused(state))).toEqual([code, outcome]);
  });

  it('says where a URL has the namespace, if the database to open does not exist', () => {
    expect(toStoreError(refused('3D000'), 'open').message).toContain('?namespace= gives the namespace');
  });
});

it('a namespace that is too long for an index is TOO_LARGE when the store opens', () => {
  expect(verdict(answered('54000'), 'open')).toEqual(['TOO_LARGE', 'refused']);
});

it('what a store needs and does not find when it opens is UNSUPPORTED', () => {
  for (const error of [refused('3D000'), ...['3F000', '42P01', '42883', '42703'].map((state) => answered(state))])
    expect(verdict(error, 'open')).toEqual(['UNSUPPORTED', 'refused']);
});

describe('a call without a connection', () => {
  const reasons: readonly (readonly [NotConnectedReason, string, string])[] = [
    ['unreachable', 'UNREACHABLE', 'notSent'],
    ['silent', 'UNREACHABLE', 'notSent'],
    ['follower', 'UNAVAILABLE', 'notSent'],
    ['foreign', 'UNSUPPORTED', 'refused'],
  ];
  it.each(reasons)('(%s) is %s, %s', (why, code, outcome) => {
    expect(verdict(notConnected(why, 'no'))).toEqual([code, outcome]);
  });

  it('because of a certificate is UNAUTHENTICATED', () => {
    const cause = Object.assign(new Error('no'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    const error = notConnected('unreachable', 'no', cause);
    expect(verdict(error)).toEqual(['UNAUTHENTICATED', 'refused']);
    expect(toStoreError(error, 'open').message).toContain('?ca=file');
  });
});

describe('a call under way', () => {
  it('is unknown when its connection ends, its answer cannot be read, or its standby was not waited for', () => {
    expect(verdict(cut('no'))).toEqual(['CONNECTION_LOST', 'unknown']);
    expect(verdict(malformed())).toEqual(['STORE_FAILED', 'unknown']);
    expect(verdict(new ExchangeError({ kind: 'notReplicated' }, 'no'))).toEqual(['UNAVAILABLE', 'unknown']);
    expect(verdict(new ExchangeError({ kind: 'timeout', sent: true }, 'no'))).toEqual(['TIMEOUT', 'unknown']);
    expect(verdict(new Error('no'))).toEqual(['STORE_FAILED', 'unknown']);
  });

  it('is notSent when its time was over before it was sent', () => {
    expect(verdict(new ExchangeError({ kind: 'timeout', sent: false }, 'no'))).toEqual(['UNREACHABLE', 'notSent']);
  });
});

describe('a missing right names the statement that grants it', () => {
  const place = { schema: 'locks', source: { username: 'my "app"', database: 'shop' } };

  it('on the schema', () => {
    expect(withMissingGrant(toStoreError(answered('42501'), 'read'), place)).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { grant: expect.stringMatching(/^GRANT USAGE ON SCHEMA "locks" TO "my ""app"""; GRANT SELECT.*; GRANT EXECUTE/) },
    });
  });

  it('on the database', () => {
    const error = toStoreError(refused('42501'), 'open');
    expect(withMissingGrant(error, place)).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { right: 'CONNECT', grant: 'GRANT CONNECT ON DATABASE "shop" TO "my ""app"""' },
    });
    expect(withMissingGrant(error, { ...place, source: { username: '', database: '' } })).toBe(error);
  });

  it('unless the server has refused a function of its own', () => {
    const { failure } = refused('42501');
    const error = toStoreError(new ExchangeError(failure, 'no', answered('42501')), 'open');
    expect(withMissingGrant(error, place)).toBe(error);
  });
});

it('of several servers, the error that a retry may pass is reported', () => {
  const errors = [refused('28P01'), notConnected('unreachable', 'no'), notConnected('follower', 'no')];
  expect(mildestError(errors)).toBe(errors[2]);
});
