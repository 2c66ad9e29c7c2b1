import { describe, expect, it } from 'vitest';

import { describeError, errorCode, isDistrust, judgeSocket } from '@incumbent/network';

function coded(code: string): Error {
  return Object.assign(new Error('it says'), { code });
}

describe('a connection that could not be opened', () => {
  const codes = {
    'UNAUTHENTICATED refused': [
      'CERT_HAS_EXPIRED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'INVALID_PURPOSE',
      'INVALID_CA',
    ],
    'UNSUPPORTED refused': [
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      'ERR_SSL_UNSUPPORTED_PROTOCOL',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'ERR_SSL_PACKET_LENGTH_TOO_LONG',
    ],
    'UNREACHABLE notSent': ['ECONNREFUSED', 'ENOTFOUND'],
  };

  describe.each(Object.entries(codes))('is %s', (verdict, ofVerdict) => {
    it.each(ofVerdict)('because of %s', (code) => {
      expect(judgeSocket(coded(code)).slice(0, 2).join(' ')).toBe(verdict);
      expect(isDistrust(coded(code))).toBe(verdict.startsWith('UNAUTHENTICATED'));
    });
  });

  it('for an unknown reason may succeed later', () => {
    for (const cause of [undefined, 'words', new Error('words')]) expect(judgeSocket(cause)).toEqual(['UNREACHABLE', 'notSent']);
    expect(errorCode(new Error('words'))).toBe('');
  });

  it('is reported with the system’s message for each address', () => {
    expect(describeError(new AggregateError([new Error('one'), new AggregateError([new Error('two'), 'three'])]))).toBe('one; two; three');
    expect(describeError('words')).toBe('words');
  });
});
