import { StoreError } from '@incumbent/core';
import { endsWatch } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { blamesMember, blamesToken, isDenied, notConnected, toStoreError, watchCanceled } from '../src/errors.ts';
import { ExchangeError, type Failure } from '../src/client/failure.ts';
import { TooLongMessage } from '../src/protocol/protobuf.ts';

function failure(kind: Failure, cause?: unknown): ExchangeError {
  return new ExchangeError(kind, 'words', cause);
}

function status(number: number, reason: string): ExchangeError {
  return failure({ kind: 'status', status: number, reason });
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function verdict(error: unknown, sent = true): string {
  const { code, outcome } = toStoreError(error, 'Txn', sent);
  return `${code} ${outcome}`;
}

describe('the code and outcome of a failure', () => {
  it.each([
    ['a lease that is gone', status(5, 'etcdserver: requested lease not found'), 'LEASE_EXPIRED refused'],
    ['another thing not found', status(5, 'etcdserver: member not found'), 'STORE_FAILED unknown'],
    ['no permission', status(7, 'etcdserver: permission denied'), 'PERMISSION_DENIED refused'],
    ['a wrong password', status(3, 'etcdserver: authentication failed, invalid user ID or password'), 'UNAUTHENTICATED refused'],
    ['no user where one is wanted', status(3, 'etcdserver: user name is empty'), 'UNAUTHENTICATED refused'],
    ['a token that is not known', status(16, 'etcdserver: invalid auth token'), 'UNAUTHENTICATED refused'],
    ['a token that is older than the users', status(3, 'etcdserver: revision of auth store is old'), 'UNAVAILABLE notSent'],
    ['too large a request', status(3, 'etcdserver: request is too large'), 'TOO_LARGE refused'],
    ['too many operations', status(3, 'etcdserver: too many operations in txn request'), 'TOO_LARGE refused'],
    ['too large a message', status(8, 'grpc: received message larger than max (9 vs. 8)'), 'TOO_LARGE refused'],
    ['another bad argument', status(3, 'etcdserver: key is not provided'), 'STORE_FAILED refused'],
    ['a backlog', status(8, 'etcdserver: too many requests'), 'UNAVAILABLE notSent'],
    ['a full database, whose last write was applied', status(8, 'etcdserver: mvcc: database space exceeded'), 'UNAVAILABLE unknown'],
    ['no leader', status(14, 'etcdserver: no leader'), 'UNAVAILABLE unknown'],
    ['a proposal that took too long', status(14, 'etcdserver: request timed out'), 'UNAVAILABLE unknown'],
    ['a request that the server dropped', status(1, 'etcdserver: request canceled'), 'UNAVAILABLE unknown'],
    ['a deadline of the server', status(4, 'context deadline exceeded'), 'TIMEOUT unknown'],
    ['a learner', status(9, 'etcdserver: rpc not supported for learner'), 'UNAVAILABLE notSent'],
    ['a login where there are no users', status(9, 'etcdserver: authentication is not enabled'), 'STORE_FAILED refused'],
    ['another precondition', status(9, 'etcdserver: not capable'), 'STORE_FAILED unknown'],
    ['a procedure that is not there', status(12, 'unknown service etcdserverpb.KV'), 'UNSUPPORTED refused'],
    ['a renewal at a former leader', status(2, 'not a primary lessor'), 'UNAVAILABLE unknown'],
    ['anything else', status(13, 'boom'), 'STORE_FAILED unknown'],
    ['a stream that was refused', failure({ kind: 'streamRefused' }), 'UNAVAILABLE notSent'],
    ['a connection that went', failure({ kind: 'cut' }), 'CONNECTION_LOST unknown'],
    ['a stream of watches after two newer ones', failure({ kind: 'replaced' }), 'CONNECTION_LOST unknown'],
    ['silence', failure({ kind: 'timeout', sent: true }), 'TIMEOUT unknown'],
    ['the end of the time before it was sent', failure({ kind: 'timeout', sent: false }), 'UNREACHABLE notSent'],
    ['the end of the store', failure({ kind: 'closed', sent: true }), 'STORE_CLOSED unknown'],
    ['the end of the store before it was sent', failure({ kind: 'closed', sent: false }), 'STORE_CLOSED notSent'],
    ['an answer that makes no sense', failure({ kind: 'malformed' }), 'STORE_FAILED unknown'],
    ['a proxy without a server', failure({ kind: 'http', httpStatus: 503 }), 'UNAVAILABLE unknown'],
    ['a proxy that wants to know who asks', failure({ kind: 'http', httpStatus: 401 }), 'UNAUTHENTICATED refused'],
    ['a proxy that forbids', failure({ kind: 'http', httpStatus: 403 }), 'PERMISSION_DENIED refused'],
    ['a web server', failure({ kind: 'http', httpStatus: 404 }), 'UNSUPPORTED refused'],
    ['a broken proxy', failure({ kind: 'http', httpStatus: 500 }), 'UNSUPPORTED unknown'],
    ['a proxy that answers in another protocol', failure({ kind: 'http', httpStatus: 200 }), 'UNSUPPORTED unknown'],
    ['a proxy that answers without content', failure({ kind: 'http', httpStatus: 204 }), 'UNSUPPORTED unknown'],
    ['a proxy that redirects', failure({ kind: 'http', httpStatus: 307 }), 'UNSUPPORTED refused'],
    ['a proxy that waited too long', failure({ kind: 'http', httpStatus: 408 }), 'UNSUPPORTED unknown'],
    ['a proxy whose client has gone', failure({ kind: 'http', httpStatus: 499 }), 'UNSUPPORTED unknown'],
    ['a refused connection', failure({ kind: 'notConnected' }, systemError('ECONNREFUSED')), 'UNREACHABLE notSent'],
    ['a name that is not known', failure({ kind: 'notConnected' }, systemError('ENOTFOUND')), 'UNREACHABLE notSent'],
    ['a certificate of strangers', failure({ kind: 'notConnected' }, systemError('SELF_SIGNED_CERT_IN_CHAIN')), 'UNAUTHENTICATED refused'],
    [
      'a certificate of another host',
      failure({ kind: 'notConnected' }, systemError('ERR_TLS_CERT_ALTNAME_INVALID')),
      'UNAUTHENTICATED refused',
    ],
    ['no TLS where it is expected', failure({ kind: 'notConnected' }, systemError('ERR_SSL_WRONG_VERSION_NUMBER')), 'UNSUPPORTED refused'],
    ['no HTTP/2', failure({ kind: 'notConnected' }, systemError('ERR_HTTP2_ERROR')), 'UNSUPPORTED refused'],
    ['what nobody foresaw', new TypeError('oops'), 'STORE_FAILED unknown'],
  ])('%s', (_, error, expected) => {
    expect(verdict(error)).toBe(expected);
  });

  it('is never unknown for a request that was not sent', () => {
    expect(verdict(new TypeError('oops'), false)).toBe('STORE_FAILED notSent');
    const login = new StoreError('TIMEOUT', 'unknown', 'the login had no answer');
    expect(verdict(login, false)).toBe('TIMEOUT notSent');
    expect(verdict(status(3, 'etcdserver: authentication failed'), false)).toBe('UNAUTHENTICATED refused');
  });

  it('does not change an error that is a StoreError already', () => {
    const said = toStoreError(status(14, 'etcdserver: no leader'), 'Range', true);
    expect(toStoreError(said, 'Watch', true)).toBe(said);
  });

  it('keeps the cause, and names the call', () => {
    const cause = status(14, 'etcdserver: no leader');
    expect(toStoreError(cause, 'Txn', true)).toMatchObject({ cause, message: 'etcd Txn: words' });
  });
});

describe('what the adapter tries after a failure', () => {
  it('another member, if this one is silent, gone or cannot serve; not if it has refused', () => {
    expect(
      [failure({ kind: 'cut' }), failure({ kind: 'timeout', sent: true }), status(14, 'etcdserver: no leader')].map(blamesMember),
    ).toEqual([true, true, true]);
    const refusals = [status(7, 'etcdserver: permission denied'), status(5, 'etcdserver: requested lease not found')];
    expect([...refusals, status(3, 'etcdserver: key is not provided')].map(blamesMember)).toEqual([false, false, false]);
  });

  it('another member, if this one answers what etcd does not answer; not if no member is reached, or it is not to blame', () => {
    const wrong = [
      status(12, 'unknown service'),
      failure({ kind: 'http', httpStatus: 404 }),
      failure({ kind: 'malformed' }),
      status(13, ''),
    ];
    expect(wrong.map(blamesMember)).toEqual([true, true, true, true]);
    const unreached = failure({ kind: 'notConnected' }, systemError('ERR_HTTP2_ERROR'));
    const replaced = failure({ kind: 'replaced' });
    const tooLong = failure({ kind: 'malformed' }, new TooLongMessage('of 17 MiB'));
    expect([unreached, tooLong, replaced, new Error('the reason of an abort')].map(blamesMember)).toEqual([false, false, false, false]);
  });

  it('a new token, if the server has refused the old one', () => {
    const stale = ['invalid auth token', 'revision of auth store is old', 'user name is empty'];
    expect(stale.map((reason) => blamesToken(status(3, `etcdserver: ${reason}`)))).toEqual([true, true, true]);
    expect(stale.map((reason) => blamesMember(status(3, `etcdserver: ${reason}`)))).toEqual([false, false, false]);
    expect(blamesToken(status(7, 'etcdserver: permission denied'))).toBe(false);
  });

  it('a proof counts only if etcd has served or denied its read', () => {
    const denied = [status(7, 'etcdserver: permission denied'), status(16, 'etcdserver: invalid auth token')];
    expect(denied.map(isDenied)).toEqual([true, true]);
    const failed = [failure({ kind: 'http', httpStatus: 403 }), failure({ kind: 'http', httpStatus: 401 }), failure({ kind: 'cut' })];
    expect([...failed, status(3, 'etcdserver: key is not provided'), status(13, '')].map(isDenied)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('the end of a watch has a reason, or says that there is none', () => {
    expect(watchCanceled('etcdserver: watcher is slow', 0n).message).toBe('the server ended the watch: etcdserver: watcher is slow');
    expect(watchCanceled('', 7n).message).toBe('the server ended the watch: compacted up to revision 7');
    expect(watchCanceled('', 0n).message).toBe('the server ended the watch without a reason');
  });

  it('a watch ends without permission, valid credentials or an open store, and retries after all other errors', () => {
    const ends = (reason: string): boolean => endsWatch(toStoreError(watchCanceled(reason, 0n), 'Watch', true));
    expect(ends('etcdserver: permission denied')).toBe(true);
    expect(ends('etcdserver: invalid auth token')).toBe(true);
    // The next token may be a new one.
    expect(ends('rpc error: code = InvalidArgument desc = etcdserver: revision of auth store is old')).toBe(false);
    expect(ends('')).toBe(false);
    expect(endsWatch(toStoreError(watchCanceled('', 7n), 'Watch', true))).toBe(false);
    expect(endsWatch(new StoreError('STORE_CLOSED', 'notSent', ''))).toBe(true);
    expect(endsWatch(new StoreError('UNREACHABLE', 'notSent', ''))).toBe(false);
  });

  it('if no member can be reached, the error that a retry may pass is reported, and the message names all members', () => {
    const strange = failure({ kind: 'notConnected' }, systemError('ERR_HTTP2_ERROR'));
    const away = failure({ kind: 'notConnected' }, systemError('ECONNREFUSED'));
    const both = notConnected([
      ['one:2379', strange],
      ['two:2379', away],
    ]);
    expect(verdict(both)).toBe('UNREACHABLE notSent');
    expect(both.message).toBe('one:2379: words; two:2379: words');
    expect(verdict(notConnected([['one:2379', strange]]))).toBe('UNSUPPORTED refused');
  });

  it('two failures of the same kind at one address are named once', () => {
    const silent = (): Error => new Error('no answer in time');
    const twice = notConnected([
      ['one:2379', silent()],
      ['one:2379', silent()],
    ]);
    expect(twice.message).toBe('one:2379: no answer in time');
  });

  it('a message of the system that has the address of the member names it once', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:2379');
    expect(notConnected([['127.0.0.1:2379', refused]]).message).toBe('connect ECONNREFUSED 127.0.0.1:2379');
  });
});
