/** What a sidecar accepts while it closes: its clients stop their work, and nobody begins. */

import { afterEach, beforeEach, expect, it } from 'vitest';

import type { ApiServer } from '../../src/serve/http/server.ts';
import type { Sidecar } from '../../src/serve/sidecar.ts';
import { ApiClient, errorOf } from './api-client.ts';
import { startApi } from './api-server.ts';
import { SidecarWorld } from './world.ts';

let world: SidecarWorld;
let sidecar: Sidecar;
let server: ApiServer;
let api: ApiClient;
beforeEach(async () => {
  world = new SidecarWorld();
  sidecar = world.sidecar('s1');
  server = await startApi(() => sidecar);
  api = new ApiClient(server.url);
});
afterEach(async () => {
  await server.close();
  await world[Symbol.asyncDispose]();
});

it('refuses new candidacies and memberships, also in an election and a group that it takes part in', async () => {
  const { candidacy } = world.client(sidecar, 'a');
  await world.until(() => candidacy.document().leads);
  await world.cluster.run(sidecar.memberships.join('g', { renewWithinMs: 60_000 }).leave());
  const closed = sidecar.close();
  for (const path of ['/elections/e/candidacies/b', '/elections/f/candidacies/b', '/groups/g/membership', '/groups/h/membership'])
    expect([path, ...errorOf(await api.call('PUT', path, { body: {} }))]).toEqual([path, 503, 'MEMBER_CLOSED']);
  expect(sidecar.size).toBe(1);
  // The client still says that its work has stopped.
  await world.until(() => candidacy.document().state === 'stopping');
  expect(await api.call('POST', '/elections/e/candidacies/a/acknowledge', { body: { term: '1' }, secret: candidacy.secret })).toMatchObject(
    {
      status: 200,
    },
  );
  await world.cluster.run(closed);
});
