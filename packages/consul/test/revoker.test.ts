import { systemClock } from '@incumbent/core/adapter';
import { afterEach, expect, it, vi } from 'vitest';

import { openRevoker, writeTicket } from '../src/revoker.ts';
import { paths, servesLeases, SESSION, startFakeAgent } from './fake-agent.ts';

const TICKET = writeTicket({ lease: SESSION, service: 'incumbent:1' });

afterEach(() => {
  vi.restoreAllMocks();
});

it('a revocation ends the session, and then removes its service', async () => {
  await using agent = await startFakeAgent(servesLeases);
  const revoker = await openRevoker(JSON.stringify({ endpoint: agent.endpoint }));
  await revoker.revoke(TICKET, { timeoutMs: 5_000 });
  expect(paths(agent, '/v1/')).toEqual([
    `/v1/session/destroy/${SESSION}`,
    `/v1/session/info/${SESSION}`,
    '/v1/agent/service/deregister/incumbent:1',
  ]);
  await revoker.close();
});

it('a revocation of a session without a service sends nothing to the agent', async () => {
  await using agent = await startFakeAgent(servesLeases);
  const revoker = await openRevoker(JSON.stringify({ endpoint: agent.endpoint }));
  await revoker.revoke(writeTicket({ lease: SESSION, service: undefined }), { timeoutMs: 5_000 });
  expect(paths(agent, '/v1/')).toEqual([`/v1/session/destroy/${SESSION}`, `/v1/session/info/${SESSION}`]);
  await revoker.close();
});

it.each([
  ['refuses to remove its service', { status: 403, body: 'Permission denied' }],
  ['closes the connection instead of removing its service', 'reset'],
] as const)('a revocation succeeds if the session is gone and the agent %s', async (_, reaction) => {
  await using agent = await startFakeAgent((request) => (request.path.startsWith('/v1/agent/') ? reaction : servesLeases(request)));
  const revoker = await openRevoker(JSON.stringify({ endpoint: agent.endpoint }));
  await revoker.revoke(TICKET, { timeoutMs: 5_000 });
  expect(paths(agent, 'deregister')).toHaveLength(1);
  await revoker.close();
});

it('a revocation succeeds if the session is gone and no time is left to remove its service', async () => {
  const monotonic = systemClock.monotonic.bind(systemClock);
  await using agent = await startFakeAgent((request) => {
    // Only the clock moves on: the timer that ends the request has not run yet.
    if (request.path.startsWith('/v1/session/info/')) vi.spyOn(systemClock, 'monotonic').mockImplementation(() => monotonic() + 5_000);
    return servesLeases(request);
  });
  const revoker = await openRevoker(JSON.stringify({ endpoint: agent.endpoint }));
  await revoker.revoke(TICKET, { timeoutMs: 5_000 });
  expect(paths(agent, 'deregister')).toEqual([]);
  await revoker.close();
});
