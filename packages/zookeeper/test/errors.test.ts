/** Which codes and outcomes failures have. */

import { describe, expect, it } from 'vitest';

import { StoreError } from '@incumbent/core';

import { mildestOf, toStoreError, answeredWith, closedSession, ExchangeError, isCode, notConnected, type Failure } from '../src/errors.ts';
import { Code, codeName, type CodeName } from '../src/protocol/codes.ts';

function verdict(failure: Failure, cause?: unknown): string {
  const { code, outcome } = toStoreError(new ExchangeError(failure, 'why', cause), 'call');
  return `${code} ${outcome}`;
}

function system(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** The code and outcome for every code of a server. */
const codes: Readonly<Record<Exclude<CodeName, 'OK'>, string>> = {
  SYSTEMERROR: 'STORE_FAILED unknown',
  RUNTIMEINCONSISTENCY: 'STORE_FAILED unknown',
  DATAINCONSISTENCY: 'STORE_FAILED unknown',
  CONNECTIONLOSS: 'UNAVAILABLE unknown',
  MARSHALLINGERROR: 'STORE_FAILED unknown',
  UNIMPLEMENTED: 'UNSUPPORTED refused',
  OPERATIONTIMEOUT: 'UNAVAILABLE unknown',
  BADARGUMENTS: 'STORE_FAILED refused',
  UNKNOWNSESSION: 'STORE_FAILED unknown',
  NEWCONFIGNOQUORUM: 'UNAVAILABLE unknown',
  RECONFIGINPROGRESS: 'STORE_FAILED unknown',
  APIERROR: 'STORE_FAILED unknown',
  NONODE: 'STORE_FAILED refused',
  NOAUTH: 'PERMISSION_DENIED refused',
  BADVERSION: 'STORE_FAILED refused',
  NOCHILDRENFOREPHEMERALS: 'STORE_FAILED refused',
  NODEEXISTS: 'STORE_FAILED refused',
  NOTEMPTY: 'STORE_FAILED refused',
  SESSIONEXPIRED: 'LEASE_EXPIRED refused',
  INVALIDCALLBACK: 'STORE_FAILED unknown',
  INVALIDACL: 'STORE_FAILED refused',
  AUTHFAILED: 'UNAUTHENTICATED refused',
  SESSIONMOVED: 'CONNECTION_LOST notSent',
  NOTREADONLY: 'UNAVAILABLE notSent',
  EPHEMERALONLOCALSESSION: 'STORE_FAILED refused',
  NOWATCHER: 'STORE_FAILED refused',
  REQUESTTIMEOUT: 'UNAVAILABLE unknown',
  RECONFIGDISABLED: 'STORE_FAILED unknown',
  SESSIONCLOSEDREQUIRESASLAUTH: 'UNAUTHENTICATED refused',
  QUOTAEXCEEDED: 'TOO_LARGE refused',
  THROTTLEDOP: 'UNAVAILABLE notSent',
};

describe('a server’s code', () => {
  it.each(Object.entries(codes))('%s is %s', (name, expected) => {
    const code = Object.entries(Code).find(([known]) => known === name)![1];
    expect(verdict({ kind: 'code', code })).toBe(expected);
  });

  it('that is not listed has an unknown outcome, and is shown as a number', () => {
    expect(verdict({ kind: 'code', code: -4711 })).toBe('STORE_FAILED unknown');
    expect([codeName(-4711), codeName(-101)]).toEqual(['code -4711', 'NONODE']);
  });

  it('can be asked for by name', () => {
    expect(isCode(answeredWith(Code.NONODE), 'BADVERSION', 'NONODE')).toBe(true);
    expect(isCode(answeredWith(Code.NONODE), 'BADVERSION')).toBe(false);
    for (const other of [closedSession(true), new Error('NONODE'), undefined]) expect(isCode(other, 'NONODE')).toBe(false);
  });
});

describe('a failure', () => {
  it.each<readonly [string, Failure, unknown, string]>([
    ['of a link', { kind: 'cut' }, system('ECONNRESET'), 'CONNECTION_LOST unknown'],
    ['to be understood', { kind: 'malformed' }, undefined, 'STORE_FAILED unknown'],
    ['to be sent in time', { kind: 'timeout', sent: false }, undefined, 'UNREACHABLE notSent'],
    ['to be answered in time', { kind: 'timeout', sent: true }, undefined, 'TIMEOUT unknown'],
    ['for the store was closed, before', { kind: 'closed', sent: false }, undefined, 'STORE_CLOSED notSent'],
    ['for the store was closed, under way', { kind: 'closed', sent: true }, undefined, 'STORE_CLOSED unknown'],
    ['for the session is gone', { kind: 'expired', by: 'server' }, undefined, 'LEASE_EXPIRED refused'],
    ['for the session was given up, which may live', { kind: 'expired', by: 'clock' }, undefined, 'UNREACHABLE notSent'],
    ['for its length', { kind: 'tooLarge' }, undefined, 'TOO_LARGE refused'],
    ['to connect', { kind: 'notConnected', why: 'unreachable' }, system('ECONNREFUSED'), 'UNREACHABLE notSent'],
    ['to trust', { kind: 'notConnected', why: 'unreachable' }, system('ERR_TLS_CERT_ALTNAME_INVALID'), 'UNAUTHENTICATED refused'],
    ['to know who signed', { kind: 'notConnected', why: 'unreachable' }, system('SELF_SIGNED_CERT_IN_CHAIN'), 'UNAUTHENTICATED refused'],
    [
      'to be trusted',
      { kind: 'notConnected', why: 'unreachable' },
      system('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      'UNAUTHENTICATED refused',
    ],
    ['to speak TLS', { kind: 'notConnected', why: 'unreachable' }, system('ERR_SSL_WRONG_VERSION_NUMBER'), 'UNSUPPORTED refused'],
    ['to get an answer', { kind: 'notConnected', why: 'silent' }, undefined, 'UNREACHABLE notSent'],
    ['to be let in', { kind: 'notConnected', why: 'turnedAway' }, undefined, 'UNAVAILABLE notSent'],
    ['to be served', { kind: 'notConnected', why: 'readOnly' }, undefined, 'UNAVAILABLE notSent'],
    ['to find a ZooKeeper', { kind: 'notConnected', why: 'foreign' }, undefined, 'UNSUPPORTED refused'],
    ['to be who one says', { kind: 'notConnected', why: 'authFailed' }, undefined, 'UNAUTHENTICATED refused'],
  ])('%s', (_, failure, cause, expected) => {
    expect(verdict(failure, cause)).toBe(expected);
  });

  it('of an unexpected kind has an unknown outcome', () => {
    expect(toStoreError(new TypeError('oops'), 'call')).toMatchObject({
      code: 'STORE_FAILED',
      outcome: 'unknown',
      message: 'zookeeper call: oops',
    });
    expect(toStoreError('oops', 'call').message).toBe('zookeeper call: oops');
  });

  it('that is a StoreError already stays the same', () => {
    const error = new StoreError('TIMEOUT', 'unknown', 'late');
    expect(toStoreError(error, 'call')).toBe(error);
  });
});

describe('of several servers', () => {
  it('the failure that a retry is most likely to pass is reported', () => {
    const foreign = notConnected('foreign', 'HTTP');
    const refused = notConnected('unreachable', 'refused', system('ECONNREFUSED'));
    const away = notConnected('turnedAway', 'no quorum');
    expect(mildestOf([foreign, refused, away])).toBe(away);
    expect(mildestOf([foreign, refused])).toBe(refused);
    expect(mildestOf([foreign])).toBe(foreign);
  });
});
