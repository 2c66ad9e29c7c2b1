/** What a sidecar accepts while it closes: its clients stop their work, and nobody begins. */

import { beforeEach, expect, it } from 'vitest';

import type { Sidecar } from '../../src/serve/sidecar.ts';
import { type ApiClient, errorOf } from './api-client.ts';
import { startApiWorld } from './api-world.ts';
import type { SidecarWorld } from './world.ts';

let world: SidecarWorld;
let sidecar: Sidecar;
let api: ApiClient;
beforeEach(async () => {
  const served = await startApiWorld();
  ({ world, sidecar, api } = served);
  return () => served[Symbol.asyncDispose]();
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
