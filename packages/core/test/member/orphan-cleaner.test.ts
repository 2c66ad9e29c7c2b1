import { describe, expect, it } from 'vitest';
import { OrphanCleaner } from '../../src/member/orphan-cleaner.ts';
import { momentOf } from '../../src/base/clock.ts';
import { LeaseSession } from '../../src/lease/session.ts';
import { SessionScene } from '../support/session.ts';
import { track, type Tracked } from '../support/track.ts';
import { Permission, timeout } from '../support/relay.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';
import type { Leadership, Member } from '../../src/index.ts';
import type { MemoryStore } from '@incumbent/memory';

interface Delayed {
  readonly world: World;
  readonly store: MemoryStore;
  readonly member: Member;
  readonly caller: AbortController;
  readonly campaign: Tracked<Leadership>;
}

/** A member with a session, whose enqueue the server delays. The caller can abort the campaign. */
async function delayedEnqueue(): Promise<Delayed> {
  const world = new World();
  const store = world.connect();
  const member = world.member('a', {}, store);
  await world.run(member.group('g').join());
  store.link.holdWrites('enqueue');
  const caller = new AbortController();
  const campaign = track(member.election(NAME).campaign({ signal: caller.signal }));
  await world.pass(100);
  return { world, store, member, caller, campaign };
}

/** Lets later calls pass. The delayed one stays delayed. */
function delayNothingMore(store: MemoryStore): void {
  store.link.holdWrites('revokeLease');
}

describe('an enqueue that is applied after its caller gave up', () => {
  it('is removed while the session lives', async () => {
    const { world, store, caller, campaign } = await delayedEnqueue();
    caller.abort();
    await world.pass(4_000);
    expect(campaign.state).toBe('rejected');
    delayNothingMore(store);
    await world.pass(6_000);
    store.link.release();
    expect(world.queue().length).toBe(1);
    await world.pass(2 * TTL_MS);
    expect(world.queue()).toEqual([]);
  });

  it('is removed also when it is applied after another try has led and resigned', async () => {
    const { world, store, member, campaign } = await delayedEnqueue();
    await world.pass(2_500);
    delayNothingMore(store);
    await world.pass(2_000);
    await world.run(campaign.value!.resign());
    store.link.release();
    expect(world.queue()).toEqual(['a']);
    const next = track(world.member('b').election(NAME).campaign());
    await world.pass(3 * TTL_MS);
    expect(next.value?.term).toBe(2n);
    expect(world.queue()).toEqual(['b']);
    await world.run(member.close());
  });

  it('does no harm while its campaign goes on: the entry is the same one', async () => {
    const { world, store, campaign } = await delayedEnqueue();
    await world.pass(2_500);
    delayNothingMore(store);
    await world.pass(2_000);
    store.link.release();
    await world.pass(20 * TTL_MS);
    expect([campaign.value?.isValid(), world.queue()]).toEqual([true, ['a']]);
  });

  it('gives the leadership back if a handover elects it', async () => {
    const { world, store, member, caller } = await delayedEnqueue();
    caller.abort();
    await world.pass(4_000);
    delayNothingMore(store);
    const leader = await world.elect(world.member('b'));
    store.link.release();
    await world.run(leader.handover('a').catch(() => {}));
    const next = track(world.member('c').election(NAME).campaign());
    await world.pass(4 * TTL_MS);
    expect(next.state).toBe('resolved');
    expect(world.json(LEADER)).toMatchObject({ memberId: 'c' });
    expect(member.state).toBe('live');
  });

  it('leaves nothing after the session has ended', async () => {
    const { world, store, member, caller } = await delayedEnqueue();
    caller.abort();
    await world.pass(4_000);
    await world.run(member.close());
    store.link.heal();
    await world.pass(1_000);
    expect(world.queue()).toEqual([]);
    world.expectNothingLeft();
  });
});

describe('what a refused release has left', () => {
  it('is removed when the store allows it again, and the next one leads', async () => {
    const world = new World();
    const permission = new Permission(world.connect());
    const member = world.member('a', {}, permission.store);
    const leadership = await world.elect(member);
    const next = track(world.member('b').election(NAME).campaign());
    permission.denied = true;
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect(next.state).toBe('pending');
    permission.denied = false;
    await world.pass(40 * TTL_MS);
    expect(next.value?.term).toBe(2n);
  });
});

describe('a release whose swaps fail while renewals succeed', () => {
  it('ends after about a ttl, and what is left is removed later', async () => {
    const world = new World();
    const permission = new Permission(world.connect(), { error: timeout });
    const leadership = await world.elect(world.member('a', {}, permission.store));
    const next = track(world.member('b').election(NAME).campaign());
    permission.denied = true;
    expect(await world.timed(leadership.resign())).toBeLessThan(2 * TTL_MS);
    expect(next.state).toBe('pending');
    permission.denied = false;
    await world.pass(40 * TTL_MS);
    expect(next.value?.term).toBe(2n);
  });

  it('does not keep `lead` from ending after its signal', async () => {
    const world = new World();
    const permission = new Permission(world.connect(), { error: timeout });
    const stop = new AbortController();
    const leading = track(
      world
        .member('a', {}, permission.store)
        .election(NAME)
        .lead(({ ended }) => ended, { signal: stop.signal }),
    );
    await world.pass(100);
    permission.denied = true;
    stop.abort();
    await world.pass(2 * TTL_MS);
    expect(leading.state).toBe('rejected');
  });
});

describe('a cleanup', () => {
  interface Cleanup {
    readonly scene: SessionScene;
    readonly orphanCleaner: OrphanCleaner;
    readonly runs: number[];
  }

  function cleanup(look: () => Promise<void> = async () => {}): Cleanup {
    const scene = new SessionScene();
    const orphanCleaner = new OrphanCleaner(scene.context);
    const runs: number[] = [];
    orphanCleaner.schedule('here', scene.session, async () => {
      runs.push(scene.world.clock.monotonic() / TTL_MS);
      await look();
    });
    return { scene, orphanCleaner, runs };
  }

  it('runs at once, and then at growing intervals until the session ends', async () => {
    const { scene, runs } = cleanup();
    await scene.pass(100 * TTL_MS);
    expect(runs).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 95.5]);
  });

  it('ends with the session, and leaves no timer', async () => {
    const { scene, runs } = cleanup();
    await scene.pass(TTL_MS);
    scene.session.end('memberClosed');
    await scene.pass(0);
    expect([scene.world.clock.timers, runs.length]).toEqual([0, 2]);
  });

  it('goes on after a run that failed', async () => {
    const { scene, runs } = cleanup(async () => Promise.reject(new Error('not now')));
    await scene.pass(2 * TTL_MS);
    expect(runs.length).toBe(3);
    expect(scene.world.events.about('tried again')).toMatchObject([{ doing: 'removingOrphans' }]);
  });

  it('replaces the cleanup of the same place', async () => {
    const { scene, orphanCleaner, runs } = cleanup();
    await scene.pass(10 * TTL_MS);
    const again: number[] = [];
    orphanCleaner.schedule('here', scene.session, async () => void again.push(scene.world.clock.monotonic() / TTL_MS));
    await scene.pass(10 * TTL_MS);
    expect([runs.length, again]).toEqual([5, [10, 10.5, 11.5, 13.5, 17.5]]);
  });

  it('is over when its member closes, after the present run', async () => {
    const look = Promise.withResolvers<void>();
    const { scene, orphanCleaner } = cleanup(() => look.promise);
    const closing = track(orphanCleaner.close());
    await scene.pass(10);
    expect(closing.state).toBe('pending');
    look.resolve();
    await scene.pass(0);
    expect(closing.state).toBe('resolved');
    orphanCleaner.schedule(
      'there',
      new LeaseSession(scene.context, { id: 'l', ttlMs: TTL_MS, validFrom: momentOf(scene.world.clock) }),
      () => expect.unreachable(),
    );
    scene.session.end('memberClosed');
    expect(scene.world.clock.timers).toBe(0);
  });
});
