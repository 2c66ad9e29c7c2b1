import { describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { ABSENT, opens, startFakeAgent, type Said } from './fake-agent.ts';

const CALL = { timeoutMs: 2_000 };
const WRITE = [{ key: 'a', expect: null, put: new Uint8Array([1]) }];

describe('a write is', () => {
  it.each<[string, Said | 'reset', string, string]>([
    ['the connection was reset', 'reset', 'CONNECTION_LOST', 'unknown'],
    ['no token is of that name', { status: 403, body: 'ACL not found' }, 'UNAUTHENTICATED', 'refused'],
    ['a later version does not know the token', { status: 403, body: 'token does not exist: ACL not found' }, 'UNAUTHENTICATED', 'refused'],
    ['the token does not allow it', { status: 403, body: 'Permission denied' }, 'PERMISSION_DENIED', 'refused'],
    ['a server that it was passed on to says so', { status: 500, body: 'rpc error: Permission denied' }, 'PERMISSION_DENIED', 'refused'],
    ['it is too long', { status: 413, body: 'Request body too large' }, 'TOO_LARGE', 'refused'],
    [
      'there are too many connections',
      { status: 429, body: 'Your IP is issuing too many concurrent connections' },
      'UNAVAILABLE',
      'notSent',
    ],
    ['there is no leader', { status: 500, body: 'No cluster leader' }, 'UNAVAILABLE', 'unknown'],
    ['the leader was lost', { status: 500, body: 'leadership lost while committing log' }, 'UNAVAILABLE', 'unknown'],
    ['something is before the agent', { status: 502, body: '<html>' }, 'UNAVAILABLE', 'unknown'],
    ['there is no such thing there', { status: 404, body: 'not found' }, 'UNSUPPORTED', 'refused'],
    ['the answer is no JSON', { body: '<html>' }, 'STORE_FAILED', 'unknown'],
    ['the answer is of another shape', { body: { Results: 7 } }, 'STORE_FAILED', 'unknown'],
    ['a session is gone', said('invalid session "x"'), 'LEASE_EXPIRED', 'refused'],
    ['an operation is not allowed', said('Permission denied'), 'PERMISSION_DENIED', 'refused'],
    ['a lock delay has not passed', said('failed to lock key "a" due to lock delay'), 'UNAVAILABLE', 'refused'],
    ['it is refused on and on for what holds', said('who knows'), 'UNAVAILABLE', 'refused'],
  ])('told apart where %s', async (_, answer, code, outcome) => {
    await using agent = await startFakeAgent(opens);
    await using store = await openConsul({ endpoint: agent.endpoint, token: 'secret' });
    agent.answer = ({ path }) => (path === '/v1/txn' ? answer : ABSENT);
    const error: unknown = await store.compareAndSwap(WRITE, CALL).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreError', code, outcome });
    expect(String(error)).not.toContain('secret');
  });

  function said(What: string): Said {
    return { status: 409, body: { Results: null, Errors: [{ OpIndex: 0, What }] } };
  }

  it('unknown when no answer comes in time, and sent once', async () => {
    await using agent = await startFakeAgent(opens);
    await using store = await openConsul({ endpoint: agent.endpoint });
    agent.answer = () => undefined;
    const from = agent.asked.length;
    await expect(store.compareAndSwap(WRITE, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(agent.asked.slice(from).map(({ path }) => path)).toEqual(['/v1/txn']);
  });
});

describe('what answers in a Consul’s place', () => {
  it.each<[string, Said]>([
    ['says hello', { body: 'hello' }],
    ['says something in JSON', { body: [] }],
    ['knows no such page', { status: 404, body: 'not found' }],
    ['wants TLS', { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }],
    ['sends elsewhere', { status: 301, headers: { location: '/login' } }],
  ])('and %s is UNSUPPORTED', async (_, answer) => {
    await using agent = await startFakeAgent(() => answer);
    await expect(openConsul({ endpoint: agent.endpoint })).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });
});
