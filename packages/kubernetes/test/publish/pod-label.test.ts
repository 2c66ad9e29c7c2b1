import { describe, expect, it } from 'vitest';

import { fields, type Fields } from '../../src/objects/json.ts';
import type { FakeRequest } from '../fake/api-server.ts';
import { DRAIN_MS, LABEL, LEADER, NAME, PublishWorld } from './world.ts';

/** Whether a request changes the pod, and sets the label or removes it. */
function isPatch(world: PublishWorld, pod: string, value: 'yes' | null): (request: FakeRequest) => boolean {
  return ({ method, path, body }) =>
    method === 'PATCH' && path === `${world.pods}/${pod}` && body.includes(`"${LABEL}":${JSON.stringify(value)}`);
}

function podOf(world: PublishWorld, name: string): Fields {
  const pod = world.object(world.pods, name);
  if (pod === undefined) throw new Error(`no pod ${name}`);
  return pod;
}

/** As the kubelet does: another version, and nothing else that matters. */
function touch(world: PublishWorld, name: string): void {
  world.put(world.pods, { ...podOf(world, name), status: { phase: String(world.history.length) } });
}

const forbidden = { status: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'no' } };

describe('the label of the pod', () => {
  it('is on the pod of the leader alone', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(b);
    await world.cluster.advance(60_000);
    expect([world.labelled, world.labelHistory]).toEqual([['b'], ['+b']]);
    await world.close(a, b);
    expect(world.labelled).toEqual([]);
  });

  it.each(['resign', 'shutdown', 'handover'] as const)(
    'is gone before the term is released, and then on the next pod (%s)',
    async (how) => {
      const world = new PublishWorld();
      const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
      const leadership = await world.elect(a);
      const next = b.election.campaign();
      await world.cluster.advance(100);
      const leaders: unknown[] = [];
      world.api.intervene = (request) => {
        const mine = world.cluster.server.entries().find(({ key }) => key === LEADER);
        if (isPatch(world, 'a', null)(request)) leaders.push(new TextDecoder().decode(mine?.value).includes('"a"'), leadership.isValid());
        return undefined;
      };
      if (how === 'shutdown') await world.cluster.run(a.member.shutdown());
      else if (how === 'handover') await world.cluster.run(leadership.handover('b'));
      else await world.cluster.run(leadership.resign());
      expect(world.labelled).not.toContain('a');
      await world.cluster.run(next);
      await world.cluster.advance(100);
      // The label of a was removed while the record was still that of a, which no longer led.
      expect(leaders).toEqual([true, false]);
      expect(world.labelHistory).toEqual(['+a', '-a', '+b']);
      await world.close(a, b);
    },
  );

  it('is removed from the pod of a leader that crashed, before the next pod gets it', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.crash('a');
    expect(world.labelled).toEqual(['a']);
    await world.elect(b);
    await world.cluster.advance(100);
    expect(world.labelHistory).toEqual(['+a', '-a', '+b']);
    expect(a.errors).toEqual([]);
    await world.close(b);
  });

  it('is looked for exactly until no other pod has it, and in the cache of the server after that', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.crash('a');
    let isRefused = false;
    world.api.intervene = (request) => {
      if (isRefused || !isPatch(world, 'a', null)(request)) return undefined;
      isRefused = true;
      return 'reset';
    };
    const before = world.api.requests.length;
    await world.elect(b);
    await world.cluster.advance(12_000);
    const looks = world.api.requests.slice(before).filter(({ method, path }) => method === 'GET' && path === world.pods);
    expect(looks.map(({ query }) => query.get('resourceVersion'))).toEqual([null, null, '0', '0']);
    await world.close(b);
  });

  it('is on no pod while it cannot be removed from another', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.crash('a');
    world.api.intervene = (request) => (isPatch(world, 'a', null)(request) ? 'reset' : undefined);
    await world.elect(b);
    await world.cluster.advance(30_000);
    expect(world.labelHistory).toEqual(['+a']);
    expect(b.errors[0]).toMatchObject({ code: 'CONNECTION_LOST' });
    world.heal();
    await world.until(() => world.labelled.includes('b'), 'the label is on b');
    expect(world.labelHistory).toEqual(['+a', '-a', '+b']);
    await world.close(b);
  });

  it('that arrives late, after its leader has crashed, is removed by the present leader', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    const held = world.hold(isPatch(world, 'a', 'yes'));
    await world.elect(a);
    await world.until(() => held.length > 0, 'the request');
    world.crash('a');
    world.heal();
    await world.elect(b);
    await world.cluster.advance(100);
    for (const request of held) world.api.apply(request);
    expect(world.labelled).toEqual(['a', 'b']);
    await world.until(() => !world.labelled.includes('a'), 'the label is on b alone', 15_000);
    expect(world.labelHistory).toEqual(['+b', '+a', '-a']);
    await world.close(b);
  });

  it('that arrives late, after its leader has given up, is refused', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    const held = world.hold(isPatch(world, 'a', 'yes'));
    const leadership = await world.elect(a);
    await world.until(() => held.length > 0, 'the request');
    world.heal();
    await world.cluster.run(leadership.resign());
    for (const request of held) world.api.apply(request);
    await world.cluster.advance(60_000);
    expect([world.labelled, world.labelHistory]).toEqual([[], []]);
    await world.close(a);
  });

  it('of a newer term is not removed by a former leader whose request arrives late', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.crash('a');
    const held = world.hold(isPatch(world, 'a', null));
    await world.elect(b);
    await world.until(() => held.length > 0, 'the request');
    world.crash('b');
    world.heal();
    const again = world.joinLabelling('a');
    await world.elect(again);
    await world.cluster.advance(100);
    for (const request of held) world.api.apply(request);
    expect(world.labelled).toEqual(['a']);
    await world.close(again);
  });

  it('of a newer term is not removed by a former leader that was paused', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.joinLabelling('a'), world.joinLabelling('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.cluster.pause('a');
    await world.elect(b);
    await world.cluster.advance(100);
    world.cluster.resume('a');
    await world.cluster.advance(60_000);
    expect([world.labelled, world.labelHistory]).toEqual([['b'], ['+a', '-a', '+b']]);
    await world.close(a, b);
  });

  it('of the next term of the same member is not removed by the end of the term before', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    world.api.intervene = (request) => (isPatch(world, 'a', null)(request) ? 'reset' : undefined);
    await world.cluster.run(leadership.resign());
    await world.elect(a);
    await world.cluster.advance(100);
    world.heal();
    await world.cluster.advance(60_000);
    expect(world.labelHistory).toEqual(['+a']);
    expect(fields(podOf(world, 'a')['metadata'])['annotations']).toEqual({ [LABEL]: `${NAME} 2` });
    await world.close(a);
  });

  it('of a newer term on another pod is left alone, and the own pod gets none', async () => {
    const world = new PublishWorld();
    world.addPod('x', { labels: { [LABEL]: 'yes' }, annotations: { [LABEL]: `${NAME} 7` } });
    const a = world.joinLabelling('a');
    await world.elect(a);
    await world.cluster.advance(20_000);
    expect([world.labelled, a.errors[0]]).toMatchObject([['x'], { code: 'STALE_TERM', details: { term: 1n, seen: 7n } }]);
    await world.close(a);
  });

  it('is set and removed although others change the pod in between', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    let patches = 0;
    world.api.intervene = ({ method }) => {
      if (method === 'PATCH' && ++patches % 2 === 1) touch(world, 'a');
      return undefined;
    };
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    expect(world.labelled).toEqual(['a']);
    await world.cluster.run(leadership.resign());
    expect([world.labelled, patches, a.errors]).toEqual([[], 4, []]);
    await world.close(a);
  });

  it('that somebody has removed by hand is set again', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    await world.elect(a);
    await world.cluster.advance(100);
    const pod = podOf(world, 'a');
    world.put(world.pods, { ...pod, metadata: { ...fields(pod['metadata']), labels: {} } });
    await world.until(() => world.labelled.includes('a'), 'the label is there again');
    await world.close(a);
  });

  it('of other elections, and of other programs, is left alone', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    world.addPod('x', { labels: { [LABEL]: 'yes' }, annotations: { [LABEL]: 'other 1' } });
    world.addPod('y', { labels: { [LABEL]: 'yes' } });
    await world.elect(a);
    await world.cluster.advance(20_000);
    expect(world.labelled.toSorted()).toEqual(['a', 'x', 'y']);
    await world.close(a);
    expect(world.labelled.toSorted()).toEqual(['x', 'y']);
  });

  it('that has come to show the leader of another Lease is not removed', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    const pod = podOf(world, 'a');
    world.put(world.pods, { ...pod, metadata: { ...fields(pod['metadata']), annotations: { [LABEL]: 'other 1' } } });
    await world.cluster.run(leadership.resign());
    expect(world.labelled).toEqual(['a']);
    await world.close(a);
  });

  it('that shows the leader of another Lease is not taken over', async () => {
    const world = new PublishWorld();
    world.addPod('a', { labels: { [LABEL]: 'yes' }, annotations: { [LABEL]: 'other 1' } });
    const a = world.joinLabelling('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(1_000);
    expect(a.errors[0]).toMatchObject({ code: 'FOREIGN_DATA', message: expect.stringContaining('the Lease other') });
    await world.cluster.run(leadership.resign());
    expect(world.labelled).toEqual(['a']);
    await world.close(a);
  });
});

describe('a label that cannot be set', () => {
  it('because the terms were reset is an error that names what to remove', async () => {
    const world = new PublishWorld();
    world.addPod('a', { annotations: { [LABEL]: `${NAME} 7 over` } });
    const a = world.joinLabelling('a');
    await world.elect(a);
    await world.cluster.advance(100);
    expect(a.errors[0]).toMatchObject({
      code: 'STALE_TERM',
      message: expect.stringContaining(`remove the annotation ${LABEL} from the pod a`),
      details: { term: 1n, seen: 7n },
    });
    await world.close(a);
  });

  it('because the pod has another name is an error that says so', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a', { podLabel: { name: LABEL, value: 'yes', pod: 'host-1' } });
    await world.elect(a);
    await world.cluster.advance(100);
    expect(a.errors[0]).toMatchObject({
      message: expect.stringContaining('no such pod in the namespace default. Pass its name as podLabel.pod'),
    });
    expect(world.shown).toMatchObject({ holder: 'a' });
    await world.close(a);
  });

  it.each(['GET', 'PATCH'])('because a right is missing (%s) delays no end', async (missing) => {
    const world = new PublishWorld();
    world.api.intervene = ({ method, path }) => (method === missing && path.startsWith(world.pods) ? forbidden : undefined);
    const a = world.joinLabelling('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(1_000);
    const right = missing === 'GET' ? 'list pods' : 'patch pods';
    expect(a.errors[0]).toMatchObject({ code: 'PERMISSION_DENIED', details: { right } });
    const fromMs = world.cluster.clock.monotonic();
    await world.cluster.run(leadership.resign());
    expect(world.cluster.clock.monotonic() - fromMs).toBeLessThan(DRAIN_MS);
    await world.close(a);
  });

  it('or removed delays the end for the drain at most, and is removed later', async () => {
    const world = new PublishWorld();
    const a = world.joinLabelling('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    world.api.intervene = () => 'silent';
    const fromMs = world.cluster.clock.monotonic();
    await world.cluster.run(leadership.resign());
    expect(world.cluster.clock.monotonic() - fromMs).toBe(DRAIN_MS);
    expect(world.labelled).toEqual(['a']);
    world.heal();
    await world.until(() => world.labelled.length === 0, 'the label is removed');
    await world.close(a);
  });
});

it('the other parts go on while the label fails', async () => {
  const world = new PublishWorld();
  world.api.intervene = ({ path }) => (path.startsWith(world.pods) ? forbidden : undefined);
  const a = world.joinLabelling('a', { events: true });
  await world.elect(a);
  await world.cluster.advance(1_000);
  expect([world.shown?.holder, world.eventsShown.length]).toEqual(['a', 1]);
  expect(world.object(world.leases, NAME)).toBeDefined();
  await world.close(a);
});
