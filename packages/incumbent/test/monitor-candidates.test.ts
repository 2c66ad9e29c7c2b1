import { describe, expect, it } from 'vitest';
import { Member, withLock } from '../src/index.ts';
import { ABOUT, sceneOfEachTest, type Scene } from './monitored.ts';

const begin = sceneOfEachTest();

/** Another member than that of the scene. */
function other(world: Scene): Member {
  return new Member(world.server.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
}

const OTHER = '{store="memory",election="jobs",member="b"}';

describe('incumbent_candidate', () => {
  it('is 1 for the leader and for who waits, and 0 for who has given up or resigned', async () => {
    const world = begin();
    const next = other(world);
    const leadership = await world.clock.run(world.member.election('jobs').campaign());
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 1`]);
    const stop = new AbortController();
    const waiting = next.election('jobs').campaign({ signal: stop.signal });
    waiting.catch(() => {});
    await world.clock.advance(100);
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 1`, `${OTHER} 1`]);
    stop.abort();
    await world.clock.run(waiting.catch(() => {}));
    await world.clock.advance(100);
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 1`, `${OTHER} 0`]);
    await world.clock.run(leadership.resign());
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 0`, `${OTHER} 0`]);
    await world.clock.run(next.close());
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 0`]);
  });

  it('is 0 from the end of the lease until the member has joined again', async () => {
    const world = begin();
    const next = other(world);
    await world.clock.run(next.election('jobs').campaign());
    const waiting = world.member.election('jobs').campaign();
    waiting.catch(() => {});
    await world.clock.advance(100);
    world.store.link.cutOff();
    await world.clock.advance(20_000);
    expect(world.figures('incumbent_candidate')).toEqual([`${OTHER} 1`, `${ABOUT} 0`]);
    world.store.link.heal();
    await world.clock.advance(10_000);
    expect(world.figures('incumbent_candidate')).toEqual([`${OTHER} 1`, `${ABOUT} 1`]);
    await world.clock.run(next.close());
  });

  it('is 0 for a member whose campaign has failed', async () => {
    const world = begin();
    const next = other(world);
    await world.clock.run(next.election('jobs').campaign());
    const failed = world.member
      .election('jobs')
      .campaign()
      .catch((error: unknown) => error);
    await world.clock.advance(100);
    world.server.put('elections/jobs/term', new TextEncoder().encode('not ours'));
    await world.clock.run(next.close());
    await world.clock.advance(100);
    expect(await failed).toMatchObject({ code: 'FOREIGN_DATA' });
    expect(world.figures('incumbent_candidate')).toEqual([`${ABOUT} 0`]);
  });

  it('does not count locks, which need nobody who waits', async () => {
    const world = begin();
    const work = (): readonly string[] => world.figures('incumbent_candidate');
    expect(await world.clock.run(withLock(world.store, 'report', work, { clock: world.clock }))).toEqual([]);
  });
});
