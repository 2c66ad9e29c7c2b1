import { Fence } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { MemoryNetwork, PeerMember, quorum, type Link, type PeerLeadership, type PeerView, type Transport } from '../src/index.ts';
import { Group, logger } from './support.ts';

type Led = PeerLeadership<'quorum'>;

/** All campaign; resolves with whoever is first, and the campaigns of the others. */
async function elect(group: Group, members: readonly PeerMember<'quorum'>[]): Promise<{ first: Led; others: readonly Promise<Led>[] }> {
  const campaigns = members.map((member) => member.campaign());
  for (const campaign of campaigns) campaign.catch(() => {});
  const first = await group.clock.run(Promise.race(campaigns));
  const others = campaigns.filter((_, i) => members[i]!.memberId !== first.memberId);
  return { first, others };
}

describe('members without a store', () => {
  it('elect one of them, and all see who leads', async () => {
    await using group = new Group();
    const members = group.ids.map((id) => group.member(id));
    const { first } = await elect(group, members);
    expect(first.isValid()).toBe(true);
    expect(first.term).toBeGreaterThanOrEqual(1n);
    await group.clock.advance(500);
    for (const member of members)
      expect(member.current).toEqual({ state: 'leader', memberId: first.memberId, term: first.term, round: undefined });
    expect(members.filter(({ leadership }) => leadership !== undefined)).toHaveLength(1);
    await group.clock.advance(60_000);
    expect(first.isValid()).toBe(true);
  });

  it('show each subscriber the views in their order, although another one resigns when it sees that it leads', async () => {
    await using group = new Group(['a']);
    const member = group.member('a');
    const seen: string[] = [];
    let mayResign = true;
    member.subscribe(({ state }) => {
      if (state !== 'leader' || !mayResign) return;
      mayResign = false;
      void member.leadership?.resign();
    });
    member.subscribe((view) => seen.push(view.state === 'leader' ? `leader ${view.term}` : view.state));
    const leadership = await group.clock.run(member.campaign(), { withinMs: 60_000 });
    expect(seen.at(-1)).toBe(`leader ${leadership.term}`);
    expect(seen).not.toContain('leader 1');
  });

  it('elect the only one that stands; the others vote', async () => {
    await using group = new Group();
    const [a, b, c] = group.ids.map((id) => group.member(id));
    await Promise.all([b!.start(), c!.start()]);
    expect((await group.clock.run(a!.campaign())).memberId).toBe('a');
    expect(b!.highestTerm).toBe(1n);
  });

  it('elect nobody without a majority, and one member alone elects itself', async () => {
    await using group = new Group();
    const campaign = group.member('a').campaign();
    campaign.catch(() => {});
    await expect(group.clock.run(campaign, { withinMs: 60_000 })).rejects.toThrow('has not settled');
    await using alone = new Group(['x']);
    const leadership = await alone.clock.run(alone.member('x').campaign());
    await alone.clock.advance(60_000);
    expect(leadership.isValid()).toBe(true);
  });

  it('a leader that is cut off is no longer valid when another is elected, and a fence knows the newer term', async () => {
    await using group = new Group();
    const members = group.ids.map((id) => group.member(id));
    const { first, others } = await elect(group, members);
    group.network.isolate(first.memberId);
    const second = await group.clock.run(Promise.race(others));
    expect(first.signal.aborted).toBe(true);
    expect(await first.ended).toMatchObject({ reason: 'deadline', lost: true, term: first.term });
    expect(second.term).toBeGreaterThan(first.term);
    const fence = new Fence();
    fence.admit(second.term);
    expect(() => fence.admit(first.term)).toThrow(expect.objectContaining({ code: 'STALE_TERM' }));
    expect(() => first.assertValid()).toThrow(expect.objectContaining({ code: 'LEADERSHIP_ENDED' }));
  });

  it('isValid() is false for a leader whose machine slept, even if its monotonic clock stood still', async () => {
    await using group = new Group();
    const { first } = await elect(
      group,
      group.ids.map((id) => group.member(id)),
    );
    expect(first.remainingMs()).toBeGreaterThan(600);
    group.clock.advanceWall(-3_600_000);
    expect(first.isValid()).toBe(true);
    group.clock.advanceWall(3_600_000 + 1_000);
    expect(first.isValid()).toBe(false);
    expect(await first.ended).toMatchObject({ reason: 'clockJump', lost: true });
  });

  it('a leader that resigns is succeeded much sooner than one that crashes', async () => {
    await using group = new Group();
    const { first, others } = await elect(
      group,
      group.ids.map((id) => group.member(id)),
    );
    const beginMs = group.clock.monotonic();
    await group.clock.run(first.resign());
    const second = await group.clock.run(Promise.race(others));
    expect(group.clock.monotonic() - beginMs).toBeLessThan(500);
    expect(await first.ended).toMatchObject({ reason: 'resigned', lost: false });
    expect(second.term).toBeGreaterThan(first.term);
  });

  it('a handover goes at once to the named member, which is informed after validity has ended', async () => {
    await using group = new Group(['a', 'b', 'c', 'd', 'e']);
    const { first, others } = await elect(
      group,
      group.ids.map((id) => group.member(id)),
    );
    await group.clock.advance(500);
    const successor = group.ids.findLast((id) => id !== first.memberId)!;
    const beginMs = group.clock.monotonic();
    const handed = first.handover(successor);
    expect(first.isValid()).toBe(false);
    await group.clock.run(handed);
    const second = await group.clock.run(Promise.race(others));
    expect(second.memberId).toBe(successor);
    expect(second.term).toBe(first.term + 1n);
    expect(group.clock.monotonic() - beginMs).toBeLessThan(20);
    expect(await first.ended).toMatchObject({ reason: 'handover', lost: false });
  });

  it('a member whose data are behind is not elected and receives no handover', async () => {
    await using group = new Group();
    const at = (lastIndex: bigint) => (): { lastTerm: bigint; lastIndex: bigint } => ({ lastTerm: 1n, lastIndex });
    const members = [
      group.member('a', { position: at(4n) }),
      group.member('b', { position: at(5n) }),
      group.member('c', { position: at(5n) }),
    ];
    const { first } = await elect(group, members);
    expect(first.memberId).not.toBe('a');
    await group.clock.advance(500);
    await expect(first.handover('a')).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      message: 'cannot hand over to "a": its data are older than another member\'s',
    });
  });

  it('the higher-ranked of two candidates is elected, with `highest-rank`', async () => {
    for (const best of ['a', 'b']) {
      await using group = new Group([best, best === 'a' ? 'b' : 'a'], { tieBreak: 'highest-rank' });
      for (let term = 1n; term <= 5n; term += 1n) {
        const { first } = await elect(
          group,
          ['a', 'b'].map((id) => group.member(id)),
        );
        expect(first.memberId).toBe(best);
        group.network.isolate(best);
        await group.clock.advance(5_000);
        group.network.heal();
      }
    }
  });

  it('a member that restarts remembers its term, and votes for nobody for a while', async () => {
    await using group = new Group();
    const { first } = await elect(
      group,
      group.ids.map((id) => group.member(id)),
    );
    const follower = group.ids.find((id) => id !== first.memberId)!;
    const again = group.member(follower);
    await again.start();
    expect(again.highestTerm).toBe(first.term);
    await group.clock.advance(5_000);
    expect(first.isValid()).toBe(true);
  });
});

describe('a peer member', () => {
  it('ends the campaign and the leadership when the signal aborts', async () => {
    await using group = new Group();
    const [a, b, c] = group.ids.map((id) => group.member(id));
    const stop = new AbortController();
    const campaign = a!.campaign({ signal: stop.signal });
    await group.clock.advance(10);
    stop.abort(new Error('enough'));
    await expect(campaign).rejects.toThrow('enough');
    await Promise.all([b!.start(), c!.start()]);
    const stopLead = new AbortController();
    let aborted = false;
    const led = a!.lead(
      async ({ signal }) => {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
        });
        aborted = true;
      },
      { signal: stopLead.signal },
    );
    await group.clock.advance(10_000);
    expect(a!.leadership?.isValid()).toBe(true);
    stopLead.abort(new Error('enough'));
    await expect(group.clock.run(led)).rejects.toThrow('enough');
    expect(aborted).toBe(true);
    await group.clock.advance(10_000);
    expect(a!.leadership).toBeUndefined();
  });

  it('refuses a second campaign, and any campaign after it is closed', async () => {
    await using group = new Group();
    const member = group.member('a');
    const campaign = member.campaign();
    campaign.catch(() => {});
    await expect(member.campaign()).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    await group.clock.run(member.close());
    await expect(campaign).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    await expect(member.campaign()).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    expect(group.clock.timers).toBe(0);
    expect(group.clock.holds).toBe(0);
  });

  it('listens to the signals that ask the process to stop until the close has ended', async () => {
    await using group = new Group(['a']);
    const member = group.member('a');
    member.shutdownOn('SIGUSR2');
    const leadership = await group.clock.run(member.campaign());
    const work = Promise.withResolvers<void>();
    leadership.waitUntil(work.promise);
    const closing = member.close();
    await group.clock.advance(10);
    expect(process.listenerCount('SIGUSR2')).toBe(1);
    work.resolve();
    await group.clock.run(closing);
    expect(process.listenerCount('SIGUSR2')).toBe(0);
  });

  it('closes its storage although its link fails to close', async () => {
    await using group = new Group();
    const open: Transport['open'] = async () => ({
      send: () => {},
      close: () => Promise.reject(new Error('the link does not close')),
    });
    const member = group.member('a', { transport: { open } });
    await member.start();
    await group.clock.run(member.close());
    expect(group.storages.get('a')!.isClosed).toBe(true);
  });

  it('shows every change of leader, and ends without an error', async () => {
    await using group = new Group();
    const members = group.ids.map((id) => group.member(id));
    const seen: PeerView<'quorum'>[] = [];
    members[0]!.subscribe((view) => seen.push(view));
    const { first } = await elect(group, members);
    await group.clock.run(first.resign());
    await group.clock.advance(2_000);
    const states = seen.map((view) => (view.state === 'leader' ? view.term : 0n));
    expect(states[0]).toBe(0n);
    expect(states).toContain(first.term);
    expect(states.at(-1)).toBeGreaterThan(first.term);
    const views = members[0]!.views();
    expect((await views.next()).value).toEqual(members[0]!.current);
    await group.clock.run(members[0]!.close());
    expect(await views.next()).toEqual({ done: false, value: { state: 'unknown' } });
    expect(await views.next()).toEqual({ done: true, value: undefined });
  });

  it('ends its views at once when the reader leaves while it waits for a change', async () => {
    await using group = new Group();
    const views = group.member('a').views();
    await group.clock.run(views.next());
    const waiting = views.next();
    await group.clock.advance(0);
    await group.clock.run(views.return(), { withinMs: 0 });
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('ends if its vote cannot be saved, and sends no more messages', async () => {
    await using group = new Group();
    const log = logger();
    const a = group.member('a', { logger: log });
    await Promise.all([group.member('b').start(), group.member('c').start()]);
    const campaign = a.campaign();
    campaign.catch(() => {});
    const views = a.views();
    await group.clock.run(views.next());
    await group.clock.advance(0);
    group.storages.get('a')!.failure = new Error('no space left on device');
    await expect(group.clock.run(campaign)).rejects.toMatchObject({
      code: 'VOTE_NOT_WRITTEN',
      message: 'the member "a" could not save its vote, and takes part no more: no space left on device',
      cause: { message: 'no space left on device' },
    });
    // A member that only votes has no campaign that rejects.
    await expect(views.next()).rejects.toMatchObject({ code: 'VOTE_NOT_WRITTEN' });
    await expect(a.campaign()).rejects.toMatchObject({ code: 'VOTE_NOT_WRITTEN' });
    expect(log.lines.map(({ message }) => message)).toContain(
      'this member has ended: its vote could not be written down, it was not told how far its data reach, or it found no members to join',
    );
    expect(a.current).toEqual({ state: 'unknown' });
  });

  it('neither leads nor asks for votes before its own vote is durable', async () => {
    await using group = new Group(['x']);
    const member = group.member('x');
    await member.start();
    group.storages.get('x')!.stalled = true;
    member.campaign().catch(() => {});
    await group.clock.advance(60_000);
    expect(member.leadership).toBeUndefined();
    expect(member.highestTerm).toBe(1n);
  });

  it('refuses members with another configuration, or that are not listed, and what is no message; and counts them', async () => {
    await using group = new Group();
    const log = logger();
    const a = group.member('a', { logger: log });
    await a.start();
    const other = group.member('b', { algorithm: quorum({ members: ['a', 'b'] }) });
    other.campaign().catch(() => {});
    await group.clock.advance(10_000);
    expect(a.refused.configuration).toBeGreaterThan(1);
    expect(a.highestTerm).toBe(0n);
    const open = async (memberId: string): Promise<Link> => group.network.open({ memberId, members: group.ids, receive: () => {} });
    const [stranger, known] = await Promise.all([open('z'), open('c')]);
    const { configuration } = quorum({ members: group.ids });
    stranger.send('a', { configuration, message: { type: 'heartbeat', term: 9n, round: 1 } }, 'heartbeat');
    for (const message of [
      undefined,
      7,
      {},
      { type: 'heartbeat', term: 9, round: 1 },
      { type: 'heartbeat', term: 2n ** 64n, round: 1 },
      { type: 'x', term: 9n },
    ])
      known.send('a', { configuration, message }, 'any');
    await group.clock.advance(10);
    expect(a.refused).toMatchObject({ unknownMember: 1, malformed: 6 });
    expect(a.highestTerm).toBe(0n);
    const refused = log.lines.filter(({ message }) => message === 'refused a message of another member');
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({ fields: { reason: 'configuration', from: 'b', theirs: expect.stringContaining('members a b,') } });
  });

  it('does not start on the vote of another member', async () => {
    await using group = new Group();
    const { first } = await elect(
      group,
      group.ids.map((id) => group.member(id)),
    );
    const storage = group.storages.get(first.memberId)!;
    const thief = group.member(first.memberId === 'a' ? 'b' : 'a', { storage });
    await expect(thief.start()).rejects.toMatchObject({ code: 'FOREIGN_DATA' });
  });

  it('names the option that is wrong', () => {
    const algorithm = quorum({ members: ['a', 'b', 'c'] });
    const transport = new MemoryNetwork();
    const invalid = expect.objectContaining({ code: 'INVALID_OPTION' });
    expect(() => new PeerMember({ algorithm, transport, memberId: 'a' })).toThrow('storage is undefined: it must be given');
    expect(() => new PeerMember({ algorithm, transport, memberId: 'd' })).toThrow(
      'memberId is "d": it must be one of the members: a, b, c',
    );
    for (const [options, message] of [
      [{ transport }, 'algorithm is undefined: it must be'],
      [{ algorithm: {}, transport }, 'algorithm is an object: it must be'],
      [{ algorithm }, 'transport is undefined: it must be'],
      [{ algorithm, transport: { election: () => transport } }, 'transport is an object: it must be the transport of one election'],
      [{ algorithm, transport, storage: 'vote' }, 'storage is a string of 4 characters: it must be'],
    ] as const) {
      expect(() => new PeerMember({ memberId: 'a', ...options } as never)).toThrow(message);
      expect(() => new PeerMember({ memberId: 'a', ...options } as never)).toThrow(invalid);
    }
    for (const options of [
      { members: [] },
      { members: ['a', 'a'] },
      { members: ['a'], electionTimeoutMinMs: 49 },
      { members: ['a'], electionTimeoutMaxMs: 1_199 },
      { members: ['a'], heartbeatEveryMs: 334 },
      { members: ['a'], drainMs: 251 },
      { members: ['a'], clockErrorRatio: 0.2 },
      { members: ['a'], heartbeatEveryMs: 330, drainMs: 250 },
      { members: ['a'], tieBreak: 'oldest' },
      { members: ['a'], electionTimeout: 1 },
    ])
      expect(() => quorum(options as never)).toThrow(invalid);
  });
});
