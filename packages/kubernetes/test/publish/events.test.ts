import { expect, it } from 'vitest';

import { fields, textFields } from '../../src/objects/json.ts';
import { NAME, PublishWorld, TTL_MS } from './world.ts';

/** The parts of the Events that a reader sees. */
function told(world: PublishWorld): readonly string[] {
  return world.eventsShown.map(textFields).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
}

it('an Event on the Lease says who was elected, and a second one how the term has ended', async () => {
  const world = new PublishWorld();
  const a = world.join('a', { events: true });
  const leadership = await world.elect(a);
  await world.cluster.advance(100);
  await world.cluster.run(leadership.resign());
  await world.cluster.advance(100);
  expect(told(world)).toEqual(['Normal LeaderElected a was elected in term 1', 'Normal LeaderLost a gave up term 1: resigned']);
  const { uid } = fields(world.object(world.leases, NAME)?.['metadata']);
  for (const event of world.eventsShown) {
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(event).toMatchObject({
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'default', name: NAME, uid },
      reportingComponent: 'incumbent',
      reportingInstance: 'a',
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    });
  }
  await world.close(a);
});

it('an Event about a loss is a warning', async () => {
  const world = new PublishWorld();
  const a = world.join('a', { events: true });
  await world.elect(a);
  await world.cluster.advance(100);
  world.cluster.cutOff('a');
  await world.cluster.advance(TTL_MS);
  expect(told(world).at(-1)).toBe('Warning LeaderLost a lost term 1: deadline');
  world.cluster.heal('a');
  await world.close(a);
});

it('an Event whose answer is lost is created once', async () => {
  const world = new PublishWorld();
  const a = world.join('a', { events: true });
  let lost = 0;
  world.api.intervene = (request) => {
    if (request.path !== world.events || lost === 2) return undefined;
    lost += 1;
    world.api.apply(request);
    return 'reset';
  };
  const leadership = await world.elect(a);
  await world.cluster.advance(10_000);
  lost = 0;
  await world.cluster.run(leadership.resign());
  await world.cluster.advance(10_000);
  expect(told(world)).toHaveLength(2);
  await world.close(a);
});

it('there are no Events unless they are asked for, and none about the close of a publisher', async () => {
  const world = new PublishWorld();
  const [a, b] = [world.join('a'), world.join('b', { events: true })];
  const leadership = await world.elect(a);
  await world.cluster.advance(100);
  await world.cluster.run(leadership.resign());
  await world.cluster.advance(100);
  expect(told(world)).toEqual([]);
  await world.elect(b);
  await world.cluster.advance(100);
  const fromMs = world.cluster.clock.monotonic();
  await world.cluster.run(b.publisher.close());
  expect(world.cluster.clock.monotonic() - fromMs).toBeLessThan(2_000);
  expect(told(world)).toEqual(['Normal LeaderElected b was elected in term 2']);
  await world.close(a, b);
});

it('an Event is not sent again while its term lasts', async () => {
  const world = new PublishWorld();
  const a = world.join('a', { events: true });
  await world.elect(a);
  await world.cluster.advance(60_000);
  expect(world.api.requests.filter(({ path }) => path === world.events)).toHaveLength(1);
  await world.close(a);
});

it('a term that no Event has announced ends without one, and nothing waits for it', async () => {
  const world = new PublishWorld();
  const a = world.join('a', { events: true });
  world.api.intervene = ({ path }) => (path.startsWith(world.leases) ? 'reset' : undefined);
  const leadership = await world.elect(a);
  await world.cluster.advance(100);
  await world.cluster.run(leadership.resign());
  world.heal();
  await world.cluster.advance(20_000);
  const fromMs = world.cluster.clock.monotonic();
  await world.cluster.run(a.publisher.close());
  expect([told(world), world.cluster.clock.monotonic() - fromMs]).toEqual([[], 0]);
  await world.close(a);
});
