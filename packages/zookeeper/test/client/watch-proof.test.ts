/** A server must prove that it reports changes to watches, or is left. */

import { describe, expect, it } from 'vitest';

import { getData, sync } from '../../src/protocol/nodes.ts';
import { ok, type Answer } from '../support/fake-server.ts';
import { recordWatch, watched } from '../support/watch-recorder.ts';
import { answerSlowly, failureOf, SECOND } from '../support/serving.ts';

const CONNECTIONLOSS = -4;

/** Answers pings and every request except `sync`. */
const behind: Answer = (request, peer) => {
  if (request.type !== sync.type) ok(request, peer);
};

/** A watch on a server that does not prove that it reports changes. */
async function unprovenWatch() {
  const { world, session, peer } = await watched();
  world.server.answer = behind;
  return { world, session, peer, first: peer(), ...recordWatch(session, '/a') };
}

/** A watch on a server whose next answer takes so many s to arrive. */
async function watchBehindAnswer(seconds: number) {
  const { world, session } = await watched();
  const { recorder } = recordWatch(session, '/a');
  await world.clock.advance(0);
  answerSlowly(world, seconds);
  return { world, session, recorder };
}

describe('a server that answers pings and no sync', () => {
  it('is left after 6 s if there are watches: they are stale, and set again on the next connection', async () => {
    const { world, session, peer, first, recorder } = await unprovenWatch();
    await world.clock.advance(6_000);
    expect([recorder.take(), peer() === first]).toEqual([['changed'], true]);
    await world.clock.advance(50);
    expect(recorder.take()).toEqual(['stale', 'changed']);
    expect(peer()).not.toBe(first);
    expect(first.pings).toBeGreaterThan(0);
    session.abandon();
    expect(world.clock.timers).toBe(0);
  });

  it('is kept and not asked if there are no watches', async () => {
    const { world, session, peer, first, stop } = await unprovenWatch();
    await world.clock.advance(0);
    stop();
    await world.clock.advance(60_000);
    expect([peer() === first, peer().types.includes(sync.type)]).toEqual([true, false]);
    session.abandon();
  });

  it('is left if it answers with an error, which proves nothing', async () => {
    const { world, session, peer, first, recorder } = await unprovenWatch();
    world.server.answer = (request, to) => (request.type === sync.type ? to.reply(request.xid, { code: CONNECTIONLOSS }) : ok(request, to));
    await world.clock.advance(6_050);
    expect(recorder.take()).toEqual(['changed', 'stale', 'changed']);
    expect(peer()).not.toBe(first);
    session.abandon();
  });

  it('is kept if the proof is late but in time', async () => {
    const { world, session, peer, first, recorder } = await unprovenWatch();
    await world.clock.advance(6_000);
    for (const { xid } of peer().requests.slice(1)) peer().reply(xid);
    world.server.answer = ok;
    await world.clock.advance(60_000);
    expect([recorder.take(), peer() === first]).toEqual([['changed'], true]);
    session.abandon();
  });
});

describe('a server that answers every proof', () => {
  it('is asked for one every 3 s', async () => {
    const { world, session, peer } = await watched();
    const { recorder } = recordWatch(session, '/a');
    await world.clock.advance(30_000);
    expect(peer().types.filter((type) => type === sync.type)).toHaveLength(10);
    expect(recorder.take()).toEqual(['changed']);
    session.abandon();
  });
});

describe('a server that sends a long answer on a slow link', () => {
  it('is kept while the answer arrives, which delays the proof behind it', async () => {
    const { world, session, recorder } = await watchBehindAnswer(20);
    const call = session.request(getData, { path: '/a' }, { timeoutMs: 30 * SECOND });
    await world.clock.advance(60 * SECOND);
    expect((await call).answer.data).toHaveLength(1_000_000);
    expect([recorder.take(), world.eventNames]).toEqual([['changed'], ['connected zk:1']]);
    session.abandon();
  });

  it('is left within 40 s, so that no answer can hide for longer that the watches are stale', async () => {
    const { world, session, recorder } = await watchBehindAnswer(300);
    const call = failureOf(session.request(getData, { path: '/a' }, { timeoutMs: 300 * SECOND }));
    await world.clock.advance(40 * SECOND);
    expect(recorder.take()).toContain('stale');
    expect(await call).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    session.abandon();
  });
});
