/** What `PUT` changes of a candidacy and of a membership: over real HTTP, in simulated time. */

import { beforeEach, describe, expect, it } from 'vitest';

import type { Candidacy } from '../../src/serve/candidacy.ts';
import type { Sidecar } from '../../src/serve/sidecar.ts';
import type { ApiClient } from './api-client.ts';
import { startApiWorld } from './api-world.ts';
import type { SidecarWorld } from './world.ts';

const CANDIDACY = '/elections/e/candidacies/a';
const MEMBERSHIP = '/groups/g/membership';

let world: SidecarWorld;
let sidecar: Sidecar;
let api: ApiClient;
beforeEach(async () => {
  const served = await startApiWorld();
  ({ world, sidecar, api } = served);
  return () => served[Symbol.asyncDispose]();
});

/** Sends `PUT` without a secret, then once for each of the changes. Returns the last answer. */
async function put(path: string, settings: object, changes: readonly object[]): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await api.call('PUT', path, { body: settings });
  expect(status).toBe(201);
  let last = body;
  const header = path === CANDIDACY ? 'candidacy-secret' : 'membership-secret';
  for (const change of changes) {
    const answer = await api.call('PUT', path, { body: change, headers: { [header]: String(body['secret']) } });
    expect(answer.status).toBe(200);
    last = answer.body;
  }
  return last;
}

describe('PUT of a candidacy that waits', () => {
  let leader: Candidacy;
  beforeEach(async () => {
    leader = world.client(world.sidecar('s2'), 'b').candidacy;
    await world.until(() => leader.document().leads);
  });

  /** What the candidacy publishes when it leads. */
  async function published(): Promise<unknown> {
    leader.end('withdrawn');
    await world.until(() => sidecar.find('e', 'a')?.document().leads === true);
    await world.pass(10);
    return (await world.cluster.run(sidecar.leader('e')))?.value;
  }

  it('with a new value keeps how the candidacy ends', async () => {
    expect(await put(CANDIDACY, { renewWithinMs: null, value: 'A' }, [{ value: 'B' }])).toMatchObject({ renewWithinMs: null });
    const candidacy = sidecar.find('e', 'a');
    const close = candidacy?.openStream(() => {});
    await world.pass(20_000);
    expect(candidacy?.isOver).toBe(false);
    expect(await published()).toBe('B');
    close?.();
  });

  it('with a new renewWithinMs keeps the value', async () => {
    expect(await put(CANDIDACY, { value: 'A' }, [{ renewWithinMs: 30_000 }])).toMatchObject({ renewWithinMs: 30_000 });
    expect(await published()).toBe('A');
  });

  it('without a body changes nothing', async () => {
    expect(await put(CANDIDACY, { value: 'A', renewWithinMs: 30_000 }, [{}])).toMatchObject({ renewWithinMs: 30_000 });
    expect(await published()).toBe('A');
  });
});

describe('PUT of a membership', () => {
  it('changes the given fields, and keeps the others', async () => {
    expect(await put(MEMBERSHIP, { value: 'A', renewWithinMs: 20_000 }, [{ renewWithinMs: 50_000 }])).toMatchObject({
      renewWithinMs: 50_000,
    });
    await world.pass(100);
    expect(await world.cluster.run(sidecar.memberships.members('g'))).toMatchObject([{ memberId: 's1', value: 'A' }]);
  });

  it('with a new value keeps renewWithinMs', async () => {
    expect(await put(MEMBERSHIP, { value: 'A', renewWithinMs: 20_000 }, [{ value: 'B' }])).toMatchObject({ renewWithinMs: 20_000 });
    await world.pass(100);
    expect(await world.cluster.run(sidecar.memberships.members('g'))).toMatchObject([{ memberId: 's1', value: 'B' }]);
  });
});
