import { describe, expect, it } from 'vitest';
import { StoreError, type Store } from '../../src/index.ts';
import { after, behind, bytes, led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

describe.each([
  ['in one swap', {}],
  ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
] as const)('a handover %s', (_, options) => {
  it('gives the next term to the named candidate, past those before it', async () => {
    const { world, leadership } = await led(options);
    const [b, c] = [await behind(world, 'b'), await behind(world, 'c', { host: 'c' })];
    await world.run(leadership.handover('c'));
    await world.pass(10);
    expect([b.state, c.value?.term, c.value?.isValid()]).toEqual(['pending', 2n, true]);
    expect(world.json(LEADER)).toMatchObject({ memberId: 'c', term: '2', value: { host: 'c' } });
    expect(await leadership.ended).toMatchObject({ reason: 'handover', lost: false });
  });

  it('past other candidates does not change their order: after that term, they come first', async () => {
    const { world, leadership } = await led(options);
    const [b, c, d] = [await behind(world, 'b'), await behind(world, 'c'), await behind(world, 'd')];
    await world.run(leadership.handover('c'));
    await world.pass(10);
    await world.run(c.value!.resign());
    await world.pass(50);
    expect([b.value?.term, d.state]).toEqual([3n, 'pending']);
    await world.run(b.value!.resign());
    await world.pass(50);
    expect(d.value?.term).toBe(4n);
  });

  it('goes to the present process of a member whose former one has left an entry behind', async () => {
    const { world, leadership } = await led(options);
    const stuck = world.connect();
    track(world.member('b', {}, stuck).election(NAME).campaign());
    await world.pass(20);
    stuck.link.cutOff();
    const now = track(world.member('b', { onDuplicate: 'replace' }).election(NAME).campaign());
    await world.pass(100);
    await world.run(leadership.handover('b'));
    await world.pass(20);
    expect([now.value?.term, now.value?.isValid()]).toEqual([2n, true]);
  });

  it('is refused where there is nobody of that name, and leadership goes on', async () => {
    const { world, leadership } = await led(options);
    await behind(world, 'b');
    await expect(world.run(leadership.handover('x'))).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      details: { memberId: 'x', candidates: ['b'] },
      message: expect.stringMatching(/^leadership of ".+" cannot be handed over to "x": the other candidate is "b"$/),
    });
    await expect(world.run(leadership.handover('a'))).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(leadership.isValid()).toBe(true);
  });

  it('waits for the work to stop before anybody else is elected', async () => {
    const { world, leadership } = await led(options);
    const next = await behind(world, 'b');
    leadership.waitUntil(after(world, 700));
    const handing = track(leadership.handover());
    await world.pass(699);
    expect([leadership.isValid(), next.state, handing.state]).toEqual([false, 'pending', 'pending']);
    await world.pass(11);
    expect([next.value?.term, handing.state]).toEqual([2n, 'resolved']);
  });

  it('that fails after the drain is a resignation: it rejects with HANDOVER_FAILED, and the term says so', async () => {
    const { world, leadership } = await led(options);
    const successor = world.member('b');
    const caller = new AbortController();
    track(successor.election(NAME).campaign({ signal: caller.signal }));
    await world.pass(20);
    leadership.waitUntil(after(world, 500));
    const handing = track(leadership.handover('b'));
    await world.pass(100);
    caller.abort();
    await world.pass(1_000);
    expect(handing.error).toMatchObject({ code: 'HANDOVER_FAILED', details: { memberId: 'b' } });
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'handoverFailed' } });
    expect([world.queue(), world.json(LEADER)]).toEqual([[], undefined]);
  });

  it('whose answer is lost has happened once', async () => {
    const { world, store, leadership } = await led(options);
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    await world.run(leadership.handover());
    await world.pass(TTL_MS);
    expect([next.value?.term, next.value?.isValid(), world.queue()]).toEqual([2n, true, ['b']]);
  });

  it('succeeds after a publication whose outcome is unknown', async () => {
    const { world, store, leadership } = await led(options);
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { operations: ['compareAndSwap'] });
    track(leadership.publish({ n: 1 }));
    await world.pass(10);
    await world.run(leadership.handover('b'));
    await world.pass(10);
    expect(next.value?.term).toBe(2n);
  });

  it('to a successor whose lease is gone by then costs its holder nothing but this leadership', async () => {
    const world = new World(options);
    const behindStore = world.connect();
    // A store that says that the lease is gone rather than that the entry is.
    const store = relay(behindStore, {
      compareAndSwap: async (changes, call) => {
        if (changes.some((change) => 'put' in change && change.key !== LEADER && change.key.startsWith(CANDIDATES))) {
          throw new StoreError('LEASE_EXPIRED', 'refused', 'the lease of the successor is gone');
        }
        return behindStore.compareAndSwap(changes, call);
      },
    });
    const member = world.member('a', {}, store);
    const leadership = await world.elect(member);
    const other = await world.run(member.election('other').campaign());
    await behind(world, 'b');
    await expect(world.run(leadership.handover('b'))).rejects.toMatchObject({ code: 'HANDOVER_FAILED' });
    await world.pass(TTL_MS);
    expect(other.isValid()).toBe(true);
  });

  it('to a candidate of a newer version, whose entry cannot be read, is refused before validity ends', async () => {
    const { world, leadership } = await led(options);
    world.server.put(`${CANDIDATES}/n~i~1~fifo~`, bytes('{"v":2}'));
    await expect(world.run(leadership.handover())).rejects.toMatchObject({ code: expect.stringMatching(/NO_SUCH_CANDIDATE|NEWER_FORMAT/) });
    expect(leadership.isValid()).toBe(true);
  });

  it('to the next in succession lists two entries of the queue, and all only if neither can be read', async () => {
    const world = new World(options);
    const lists: (number | undefined)[] = [];
    const store = world.connect();
    const list: Store['list'] = (prefix, how) => {
      if (how?.before === undefined) lists.push(how?.first);
      return store.list(prefix, how);
    };
    const a = await world.elect(world.member('a', {}, relay(store, { list })));
    world.server.put(`${CANDIDATES}/n~i~1~fifo~`, bytes('{"v":2}'));
    const [b, c] = [await behind(world, 'b'), await behind(world, 'c')];
    await world.run(a.handover());
    expect([lists, b.value?.term, c.state]).toEqual([[2, undefined], 2n, 'pending']);
  });

  it('goes to the next in succession where no name is given, and a second one at the same time is refused', async () => {
    const { world, leadership } = await led(options);
    const [b, c] = [await behind(world, 'b'), await behind(world, 'c')];
    const [first, second] = [track(leadership.handover()), track(leadership.handover('c'))];
    await world.pass(1_000);
    expect([b.value?.term, c.state, first.state]).toEqual([2n, 'pending', 'resolved']);
    expect(second.error).toMatchObject({ code: 'LEADERSHIP_ENDED' });
  });
});
