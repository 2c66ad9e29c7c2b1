import { inspect } from 'node:util';

import { isRetryable } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { hello, OK } from '../fake-servers.ts';
import { CALL, endOf, ping, pongs, serving } from './calls.ts';

describe('the greeting', () => {
  it('is made on the first call, with the version of the protocol, the user and the database, and once', async () => {
    const { servers, client } = serving(pongs, { credentials: { username: 'alice', password: 'secret' }, db: 3 });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.peers).toHaveLength(1);
    expect(servers.peer.requests.slice(0, 2)).toEqual([
      ['HELLO', '3', 'AUTH', 'alice', 'secret', 'SETNAME', 'incumbent'],
      ['SELECT', '3'],
    ]);
    client.close();
  });

  it.each<[string, string | undefined, string]>([
    ['a wrong password', '-WRONGPASS invalid username-password pair or user is disabled.\r\n', 'UNAUTHENTICATED refused'],
    ['a missing password', '-NOAUTH HELLO must be called with the client already authenticated\r\n', 'UNAUTHENTICATED refused'],
    [
      'a password for a server that has none',
      '-ERR AUTH <password> called without any password configured for the default user.\r\n',
      'UNAUTHENTICATED refused',
    ],
    ['a server before 6', "-ERR unknown command 'HELLO'\r\n", 'UNSUPPORTED refused'],
    ['another protocol', '-NOPROTO unsupported protocol version\r\n', 'UNSUPPORTED refused'],
    ['a server before 7', hello({ version: '6.2.14' }), 'UNSUPPORTED refused'],
    ['a replica', hello({ role: 'replica' }), 'UNAVAILABLE notSent'],
    ['too many clients', '-ERR max number of clients reached\r\n', 'UNAVAILABLE notSent'],
    ['protected mode', '-DENIED Redis is running in protected mode\r\n', 'PERMISSION_DENIED refused'],
    ['a missing permission', "-NOPERM this user has no permissions to run the 'hello' command\r\n", 'PERMISSION_DENIED refused'],
    ['a server that speaks HTTP', 'HTTP/1.1 400 Bad Request\r\n', 'UNSUPPORTED refused'],
    ['an answer of another shape', OK, 'UNSUPPORTED refused'],
  ])('that fails because of %s has its own code', async (_, said, expected) => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? said : undefined));
    expect(await endOf(servers, client.call(ping, CALL))).toBe(expected);
    expect(servers.peer.left).toBe(true);
    client.close();
  });

  it.each<[string, string, string]>([
    [
      'an unknown command',
      "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'alice' '$' 'SETNAME'",
      'UNSUPPORTED refused',
    ],
    ['an unknown command, in other words', 'UNKNOWN HELLO 3 AUTH alice $', 'STORE_FAILED unknown'],
    ['the number of arguments', "ERR wrong number of arguments for 'hello' command: AUTH alice $", 'UNSUPPORTED refused'],
    ['a syntax error', "ERR Syntax error in HELLO option '$'", 'UNSUPPORTED refused'],
    ['a password for a server that has none', 'ERR AUTH alice $ called without any password configured', 'UNAUTHENTICATED refused'],
    ['a wrong password', 'WRONGPASS alice $', 'UNAUTHENTICATED refused'],
    ['a missing permission', 'NOPERM HELLO AUTH alice $', 'PERMISSION_DENIED refused'],
    ['the password alone', '$', 'STORE_FAILED unknown'],
    ['too many clients', 'ERR max number of clients reached, alice $', 'UNAVAILABLE notSent'],
    ['that it is loading', 'LOADING $', 'UNAVAILABLE notSent'],
  ])('does not repeat the answer of the server, which may contain the password: %s', async (_, said, expected) => {
    const password = 'mKr7Qx2Zt9';
    for (const text of [said, said.replaceAll(' ', '\t')]) {
      const { servers, client } = serving(([name]) => (name === 'HELLO' ? `-${text.replace('$', password)}\r\n` : undefined), {
        credentials: { username: 'alice', password },
      });
      const failed = client.call(ping, CALL).catch((error: unknown) => toStoreError(error, 'open'));
      const error: unknown = await servers.clock.run(failed);
      const shown = [inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error), error instanceof Error ? error.stack : ''];
      expect(shown.join('')).not.toContain(password);
      expect(shown.join('')).not.toContain('alice');
      if (text === said) expect(error).toMatchObject({ code: expected.split(' ')[0], outcome: expected.split(' ')[1] });
      client.close();
    }
  });

  it.each([':mKr7Qx2Zt9', '*mKr7Qx2Zt9', '$mKr7Qx2Zt9'])('does not repeat an answer that is not RESP: %s', async (said) => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? `${said}\r\n` : undefined));
    const error: unknown = await servers.clock.run(client.call(ping, CALL).catch((reason: unknown) => toStoreError(reason, 'open')));
    expect(error).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('mKr7Qx2Zt9');
    client.close();
  });

  it('is refused if the database does not exist', async () => {
    const { servers, client } = serving(([name]) => (name === 'SELECT' ? '-ERR DB index is out of range\r\n' : undefined), { db: 99 });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNSUPPORTED refused');
    client.close();
  });

  it('may succeed later if the check fails with an error that nobody foresaw', async () => {
    let isFirst = true;
    const { servers, client } = serving(
      ([name]) => {
        if (name !== 'CHECK') return name === 'PING' ? '+PONG\r\n' : undefined;
        const answer = isFirst ? '-ERR an internal error\r\n' : OK;
        isFirst = false;
        return answer;
      },
      { check: (connection) => connection.request(['CHECK'], () => {}) },
    );
    const failed = client.call(ping, CALL).catch((error: unknown) => toStoreError(error, 'open'));
    expect(await servers.clock.run(failed)).toSatisfy(isRetryable);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    client.close();
  });

  it('accepts Valkey', async () => {
    const { servers, client } = serving(([name]) => (name === 'HELLO' ? hello({ server: 'valkey', version: '8.1.1' }) : '+PONG\r\n'));
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    client.close();
  });
});
