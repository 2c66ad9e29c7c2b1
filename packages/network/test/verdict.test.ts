import { describe, expect, it } from 'vitest';

import { describeError, errorCode, isDistrust, judgeSocket } from '@incumbent/network';

function coded(code: string): Error {
  return Object.assign(new Error('it says'), { code });
}

describe('a connection that did not come about', () => {
  it.each([
    ['CERT_HAS_EXPIRED', 'UNAUTHENTICATED', 'refused'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNAUTHENTICATED', 'refused'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'UNAUTHENTICATED', 'refused'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'UNAUTHENTICATED', 'refused'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNAUTHENTICATED', 'refused'],
    ['INVALID_PURPOSE', 'UNAUTHENTICATED', 'refused'],
    ['INVALID_CA', 'UNAUTHENTICATED', 'refused'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'UNSUPPORTED', 'refused'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'UNSUPPORTED', 'refused'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'UNSUPPORTED', 'refused'],
    ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'UNSUPPORTED', 'refused'],
    ['ECONNREFUSED', 'UNREACHABLE', 'notSent'],
    ['ENOTFOUND', 'UNREACHABLE', 'notSent'],
  ])('because of %s is %s', (code, ...verdict) => {
    expect(judgeSocket(coded(code))).toEqual(verdict);
    expect(isDistrust(coded(code))).toBe(verdict[0] === 'UNAUTHENTICATED');
  });

  it('for no known reason may come about later', () => {
    for (const cause of [undefined, 'words', new Error('words')]) expect(judgeSocket(cause)).toEqual(['UNREACHABLE', 'notSent']);
    expect(errorCode(new Error('words'))).toBe('');
  });

  it('is told in the system’s words, of each address that was tried', () => {
    expect(describeError(new AggregateError([new Error('one'), new AggregateError([new Error('two'), 'three'])]))).toBe('one; two; three');
    expect(describeError('words')).toBe('words');
  });
});
