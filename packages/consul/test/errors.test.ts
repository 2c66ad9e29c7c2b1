import { describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { ABSENT, opens, startFakeAgent, type FakeResponse } from './fake-agent.ts';

const CALL = { timeoutMs: 2_000 };
type Case = [name: string, response: FakeResponse | 'reset', code: string, outcome: string];

const WRITE = [{ key: 'a', expect: null, put: new Uint8Array([1]) }];

describe('a write fails', () => {
  it.each<Case>([
    ['the connection was reset', 'reset', 'CONNECTION_LOST', 'unknown'],
    ['there is no such token', { status: 403, body: 'ACL not found' }, 'UNAUTHENTICATED', 'refused'],
    ['a later version finds no such token', { status: 403, body: 'token does not exist: ACL not found' }, 'UNAUTHENTICATED', 'refused'],
    ['the token does not allow it', { status: 403, body: 'Permission denied' }, 'PERMISSION_DENIED', 'refused'],
    [
      'the server to which the agent passed it does not allow it',
      { status: 500, body: 'rpc error: Permission denied' },
      'PERMISSION_DENIED',
      'refused',
    ],
    ['it is too long', { status: 413, body: 'Request body too large' }, 'TOO_LARGE', 'refused'],
    [
      'there are too many connections',
      { status: 429, body: 'Your IP is issuing too many concurrent connections' },
      'UNAVAILABLE',
      'notSent',
    ],
    ['there is no leader', { status: 500, body: 'No cluster leader' }, 'UNAVAILABLE', 'unknown'],
    ['the leader was lost', { status: 500, body: 'leadership lost while committing log' }, 'UNAVAILABLE', 'unknown'],
    [
      'the agent does not accept the key',
      { status: 500, body: 'invalid key name, keys should respect the "^[a-z]+$" format' },
      'UNSUPPORTED',
      'refused',
    ],
    ['the agent finds dots in the key', { status: 500, body: 'URL path contains invalid traversal sequence' }, 'UNSUPPORTED', 'refused'],
    ['a proxy responds instead of the agent', { status: 502, body: '<html>' }, 'UNAVAILABLE', 'unknown'],
    ['there is no such page', { status: 404, body: 'not found' }, 'UNSUPPORTED', 'refused'],
    ['the response is not JSON', { body: '<html>' }, 'STORE_FAILED', 'unknown'],
    ...[202, 204, 408, 499].map((status): Case => [
      `no agent responds with ${status}, but a proxy may`,
      { status },
      'STORE_FAILED',
      'unknown',
    ]),
    ['the response has another shape', { body: { Results: 7 } }, 'STORE_FAILED', 'unknown'],
    ['a session is gone', refusedFor('invalid session "x"'), 'LEASE_EXPIRED', 'refused'],
    ['an operation is not allowed', refusedFor('Permission denied'), 'PERMISSION_DENIED', 'refused'],
    ['a lock delay has not passed', refusedFor('failed to lock key "a" due to lock delay'), 'UNAVAILABLE', 'refused'],
    ['it is refused 5 times although its expectations hold', refusedFor('an unknown reason'), 'UNAVAILABLE', 'refused'],
  ])('with its own code and outcome if %s', async (_, response, code, outcome) => {
    await using agent = await startFakeAgent(opens);
    await using store = await openConsul({ endpoint: agent.endpoint, token: 'secret' });
    agent.respond = ({ path }) => (path === '/v1/txn' ? response : ABSENT);
    const error: unknown = await store.compareAndSwap(WRITE, CALL).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreError', code, outcome });
    expect(String(error)).not.toContain('secret');
  });

  function refusedFor(What: string): FakeResponse {
    return { status: 409, body: { Results: null, Errors: [{ OpIndex: 0, What }] } };
  }

  it('with an unknown outcome if no response comes in time, and is sent once', async () => {
    await using agent = await startFakeAgent(opens);
    await using store = await openConsul({ endpoint: agent.endpoint });
    agent.respond = () => undefined;
    const from = agent.requests.length;
    await expect(store.compareAndSwap(WRITE, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(agent.requests.slice(from).map(({ path }) => path)).toEqual(['/v1/txn']);
  });
});

describe('a server that is not Consul', () => {
  it.each<[string, FakeResponse]>([
    ['says hello', { body: 'hello' }],
    ['responds in JSON', { body: [] }],
    ['has no such page', { status: 404, body: 'not found' }],
    ['expects TLS', { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }],
    ['redirects', { status: 301, headers: { location: '/login' } }],
  ])('and %s is UNSUPPORTED', async (_, response) => {
    await using agent = await startFakeAgent(() => response);
    await expect(openConsul({ endpoint: agent.endpoint })).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });
});
