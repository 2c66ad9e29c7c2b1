import { expect, it } from 'vitest';

import type { CandidacyEvent } from '../../src/serve/documents.ts';
import { SidecarWorld } from './world.ts';

it('an overdue renewal is told to the candidacies with that lease only', async () => {
  await using world = new SidecarWorld({ maxKeysPerLease: 4 });
  const sidecar = world.sidecar('s1');
  const streams: CandidacyEvent['event'][][] = [];
  for (const election of ['e1', 'e2', 'e3', 'e4']) {
    const candidacy = sidecar.create(election, 'a', { renewWithinMs: null });
    const events: CandidacyEvent['event'][] = [];
    candidacy.openStream(({ event }) => void events.push(event));
    await world.until(() => candidacy.document().leads);
    streams.push(events);
    await world.pass(500);
  }
  world.cluster.process('s1').store.link.dropRequests(1, { operations: ['renewLease'], how: 'reset' });
  await world.until(() => streams.some((events) => events.includes('suspect')));
  await world.until(() => streams.some((events) => events.includes('recovered')));
  const all = ['waiting', 'elected', 'suspect', 'recovered'];
  expect(streams).toContainEqual(all);
  expect(streams).toContainEqual(all.slice(0, 2));
});
