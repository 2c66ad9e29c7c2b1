import { expect, it } from 'vitest';

import { PODS } from '../../src/names.ts';
import { LeasePart } from '../../src/publish/lease-part.ts';
import type { Part } from '../../src/publish/part.ts';
import { PodLabelPart } from '../../src/publish/pod-label-part.ts';
import type { Cluster } from '../../src/store.ts';
import { LABEL, NAME, PublishWorld } from './world.ts';

/** Past its deadline, although no timer and no signal has said so yet: as after a pause. */
const term = { term: 2n, memberId: 'a', isValid: () => false };

const lease = (cluster: Cluster): Part => new LeasePart(cluster, term, { lease: NAME, election: NAME, durationMs: 15_000 });
const podLabel = (cluster: Cluster): Part => new PodLabelPart(cluster, PODS, term, NAME, { name: LABEL, value: 'yes', pod: 'a' });

it.each([
  ['the Lease', lease, {}],
  ['its own pod', podLabel, {}],
  ['the pod of a former leader', podLabel, { labels: { [LABEL]: 'yes' }, annotations: { [LABEL]: `${NAME} 1` } }],
] as const)('a leader that finds itself past its deadline after a read does not write %s', async (_, part, metadata) => {
  const world = new PublishWorld();
  world.addPod('a');
  world.addPod('x', metadata);
  const published = part(world.clusterOf('a'));
  await world.cluster.run(published.publish(new AbortController().signal));
  await world.cluster.run(published.withdraw(new AbortController().signal));
  expect(new Set(world.api.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  await world.close();
});
