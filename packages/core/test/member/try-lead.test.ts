import { describe, expect, it } from 'vitest';
import type { Leadership, Member } from '../../src/index.ts';
import { after, behind, DRAIN_MS, led } from '../support/led.ts';
import { quiet, track, type Tracked } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** Calls the work, and counts its calls. */
function counted<T>(value: T): { readonly work: () => T; readonly calls: () => number } {
  let calls = 0;
  return {
    work: () => {
      calls += 1;
      return value;
    },
    calls: () => calls,
  };
}

/** Tries, with work that must not run. */
function tryInVain(member: Member): Promise<unknown> {
  return member.election(NAME).tryLead(() => {
    throw new Error('the work of a try in vain was called');
  });
}

/** Work that runs until its leadership ends. */
async function untilEnded({ ended }: Leadership): Promise<string> {
  await ended;
  return 'stopped';
}

describe('a try to lead', () => {
  it('leads if nobody does, runs the work, resigns, and resolves with what the work returns', async () => {
    const world = new World();
    const trying = world
      .member('a')
      .election(NAME)
      .tryLead((leadership) => [leadership.isValid(), leadership.term, world.json(LEADER)?.['memberId']]);
    expect(await world.run(trying)).toEqual([true, 1n, 'a']);
    expect(world.server.keys()).toEqual(['members/a', TERM]);
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'resigned' } });
    await world.close();
    world.expectNothingLeft();
  });

  it('costs one read while another member leads, and leaves no trace in the store', async () => {
    const { world } = await led();
    const [before, { read, ...others }] = [world.server.entries(), world.server.requests];
    const member = world.member('b');
    expect(await world.run(tryInVain(member), 10)).toBeUndefined();
    expect([world.server.requests, member.state]).toEqual([{ ...others, read: read + 1 }, 'idle']);
    expect(world.server.entries()).toEqual(before);
    await world.close();
    world.expectNothingLeft();
  });

  it('leaves the queue if another candidate is first while the leader is absent', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(new Promise(() => {}));
    const next = await behind(world, 'b');
    // The leader's entry stays in the queue while its work drains.
    world.server.deleteKey(LEADER);
    expect(await world.run(tryInVain(world.member('c')), 10)).toBeUndefined();
    expect(world.queue()).toEqual(['a', 'b']);
    await world.pass(TTL_MS);
    expect(next.state).toBe('resolved');
    await world.close();
    world.expectNothingLeft();
  });

  it('leaves the turn to the successor of a handover in two steps', async () => {
    const { world, leadership } = await led({ assignableLease: false });
    const slow = world.connect({ latencyMs: 50 });
    const next = track(world.member('b', {}, slow).election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    await world.pass(200);
    const handing = leadership.handover('b');
    await world.until(() => world.json(LEADER) === undefined);
    expect(await world.run(tryInVain(world.member('c')), 10)).toBeUndefined();
    await world.run(handing);
    await world.pass(1_000);
    expect([next.state, world.queue()]).toEqual(['resolved', ['b']]);
    await world.close();
    world.expectNothingLeft();
  });

  it('never waits: of two members that try at the same time, one leads and the other does not', async () => {
    for (let apartMs = 0; apartMs <= 24; apartMs += 1)
      for (const slowMs of [1, 2, 3]) {
        const world = new World();
        const attempt = (memberId: string, latencyMs: number): Tracked<string | undefined> =>
          track(
            world
              .member(memberId, {}, world.connect({ latencyMs }))
              .election(NAME)
              .tryLead(async () => {
                await after(world, 1_000);
                return memberId;
              }),
          );
        const first = attempt('a', 1);
        await world.pass(apartMs);
        const second = attempt('b', slowMs);
        await world.pass(200);
        const states = [first.state, second.state].toSorted();
        expect(states, `${apartMs} ms apart, at ${slowMs} ms`).toEqual(['pending', 'resolved']);
        await world.pass(2_000);
        expect([first.value, second.value].filter((value) => value !== undefined)).toHaveLength(1);
        expect(world.queue()).toEqual([]);
        await world.close();
        world.expectNothingLeft();
      }
  });

  it('takes its own former term for no other leader, and waits until that is released', async () => {
    const { world, leadership, member } = await led();
    leadership.waitUntil(after(world, 200));
    void leadership.resign();
    const trying = track(member.election(NAME).tryLead(({ term }) => term));
    await world.pass(199);
    expect([trying.state, world.json(LEADER)]).toMatchObject(['pending', { term: '1' }]);
    await world.pass(10);
    expect(trying.value).toBe(2n);
    await world.close();
  });

  it('waits for work of an earlier call that stops within its drain', async () => {
    const world = new World();
    const caller = new AbortController();
    const election = world.member('a').election(NAME);
    track(election.tryLead(({ ended }) => ended.then(() => after(world, DRAIN_MS / 2)), { signal: caller.signal }));
    await world.pass(100);
    caller.abort(new Error('enough'));
    expect(await world.run(election.tryLead(({ term }) => term))).toBe(2n);
    await world.close();
    world.expectNothingLeft();
  });

  it('is in vain while something passed to waitUntil in a former term has not settled', async () => {
    const world = new World();
    const member = world.member('a');
    const first = member.election(NAME).tryLead((leadership) => leadership.waitUntil(after(world, 5_000)));
    await world.run(first, DRAIN_MS + 10);
    expect(await world.run(tryInVain(member), 10)).toBeUndefined();
    await world.pass(5_000);
    expect(
      await world.run(
        member.election(NAME).tryLead(({ term }) => term),
        10,
      ),
    ).toBe(2n);
    await world.close();
    world.expectNothingLeft();
  });

  it('is in vain while work of an earlier call outlives its own term, and leads once that work has stopped', async () => {
    const world = new World();
    const member = world.member('a');
    const caller = new AbortController();
    const election = member.election(NAME);
    const stuck = track(election.tryLead(({ ended }) => ended.then(() => after(world, 5_000)), { signal: caller.signal }));
    await world.pass(100);
    caller.abort(new Error('enough'));
    expect(await world.run(tryInVain(member), DRAIN_MS + 10)).toBeUndefined();
    expect([stuck.state, world.queue(), world.json(LEADER)]).toEqual(['rejected', [], undefined]);
    expect(await world.run(tryInVain(member), 10)).toBeUndefined();
    await world.pass(5_000);
    expect(
      await world.run(
        election.tryLead(({ term }) => term),
        10,
      ),
    ).toBe(2n);
    await world.close();
    world.expectNothingLeft();
  });

  it('may be repeated, and leads once the other has stopped', async () => {
    const { world, leadership } = await led();
    const member = world.member('b');
    expect(await world.run(tryInVain(member), 10)).toBeUndefined();
    await world.run(leadership.resign());
    for (const term of [2n, 3n]) expect(await world.run(member.election(NAME).tryLead((now) => now.term))).toBe(term);
    await world.close();
    world.expectNothingLeft();
  });
});

describe('a try that leads', () => {
  it.each(['the lease expires', 'the record is deleted', 'it hands over'])('rejects when %s, and calls the work once', async (how) => {
    const world = new World();
    const election = world.member('a').election(NAME);
    let calls = 0;
    const trying = track(
      election.tryLead((leadership) => {
        calls += 1;
        return untilEnded(leadership);
      }),
    );
    await world.pass(100);
    const next = await behind(world, 'b');
    if (how === 'the lease expires') world.server.expireLease(world.leaseOf('a'));
    else if (how === 'the record is deleted') world.server.deleteKey(LEADER);
    else await world.run(election.leadership!.handover('b'));
    await world.pass(2 * TTL_MS);
    expect(trying).toMatchObject({ state: 'rejected', error: { code: 'LEADERSHIP_ENDED' } });
    expect([calls, next.state]).toEqual([1, 'resolved']);
    await world.close();
    world.expectNothingLeft();
  });

  it('reports an error of work that fails after its leadership was lost, and rejects with the loss', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const trying = track(
      election.tryLead(async ({ ended }) => {
        await ended;
        throw new Error('could not stop cleanly');
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(trying.error).toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect(world.events.about('the work failed')).toMatchObject([{ err: { message: 'could not stop cleanly' }, campaignsAgain: false }]);
    await world.close();
  });

  it('rejects with what the work throws, after it has resigned', async () => {
    const world = new World();
    const failure = new Error('the work failed');
    const trying = world
      .member('a')
      .election(NAME)
      .tryLead(() => Promise.reject(failure));
    await expect(world.run(trying)).rejects.toBe(failure);
    expect(world.json(LEADER)).toBeUndefined();
    await world.close();
  });

  it('aborted, waits for the drain, resigns, and rejects with the reason', async () => {
    const world = new World();
    const caller = new AbortController();
    const election = world.member('a').election(NAME);
    const trying = track(
      election.tryLead(
        async ({ ended }) => {
          await ended;
          await after(world, 300);
        },
        { signal: caller.signal },
      ),
    );
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass(299);
    expect([trying.state, world.json(LEADER)]).toMatchObject(['pending', { term: '1' }]);
    await world.pass(10);
    expect(trying.error).toMatchObject({ message: 'enough' });
    expect(world.json(TERM)).toMatchObject({ ended: { reason: 'resigned' } });
    await world.close();
    world.expectNothingLeft();
  });

  it('resolves with undefined when its member closes, after the work has stopped', async () => {
    const world = new World();
    const member = world.member('a');
    const election = member.election(NAME);
    const trying = track(election.tryLead(untilEnded));
    await world.pass(100);
    await world.run(member.close());
    await world.pass();
    expect(trying).toEqual({ state: 'resolved', value: undefined });
    expect(await election.tryLead(untilEnded)).toBeUndefined();
    world.expectNothingLeft();
  });
});

describe('a try that cannot go on', () => {
  it.each(['read', 'list', 'enqueue'] as const)(
    'rejects with the store error of a failed %s, does not retry, and leaves nothing',
    async (operation) => {
      const world = new World();
      const store = world.connect({ latencyMs: 1 });
      const member = world.member('a', {}, store);
      await world.run(member.election('other').lead(() => {}));
      store.link.dropReplies(1, { operations: [operation], how: 'reset' });
      const { work, calls } = counted('done');
      const trying = quiet(member.election(NAME).tryLead(work));
      await expect(world.run(trying, 100)).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
      expect(calls()).toBe(0);
      await world.pass(2 * TTL_MS);
      expect([world.queue(), world.json(LEADER)]).toEqual([[], undefined]);
      expect(await world.run(member.election(NAME).tryLead(work))).toBe('done');
      await world.close();
      world.expectNothingLeft();
    },
  );

  it('leads in a further term if the answer to its claim was lost', async () => {
    const world = new World();
    const store = world.connect({ latencyMs: 1 });
    const member = world.member('a', {}, store);
    await world.run(member.election('other').lead(() => {}));
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    expect(await world.run(member.election(NAME).tryLead(({ term }) => term))).toBe(2n);
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects while the store is away, instead of waiting for it', async () => {
    const world = new World();
    const store = world.connect();
    store.link.refuse();
    await expect(world.run(tryInVain(world.member('a', {}, store)), 100)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects for a record of a leader that it cannot read', async () => {
    const world = new World();
    world.put(LEADER, 'strange');
    await expect(world.run(tryInVain(world.member('a')))).rejects.toMatchObject({ code: 'FOREIGN_DATA' });
  });

  it('aborted at any moment, rejects with the reason and leaves nothing', async () => {
    for (let atMs = 0; atMs <= 30; atMs += 1) {
      const world = new World();
      const caller = new AbortController();
      const member = world.member('a', {}, world.connect({ latencyMs: 1 }));
      const trying = track(member.election(NAME).tryLead(untilEnded, { signal: caller.signal }));
      await world.pass(atMs);
      caller.abort(new Error('enough'));
      await world.pass(2 * TTL_MS);
      expect(trying, `aborted after ${atMs} ms`).toMatchObject({ state: 'rejected', error: { message: 'enough' } });
      expect([world.queue(), world.json(LEADER)]).toEqual([[], undefined]);
      await world.close();
      world.expectNothingLeft();
    }
  });

  it('resolves with undefined when its member closes, at any moment, and leaves nothing', async () => {
    for (let atMs = 0; atMs <= 30; atMs += 1) {
      const world = new World();
      const member = world.member('a', {}, world.connect({ latencyMs: 1 }));
      const trying = track(member.election(NAME).tryLead(untilEnded));
      await world.pass(atMs);
      await world.run(member.close());
      // Messages of calls that were aborted are still on their way.
      await world.pass(2 * TTL_MS);
      expect(trying, `closed after ${atMs} ms`).toEqual({ state: 'resolved', value: undefined });
      world.expectNothingLeft();
    }
  });

  it.each([
    ['its member closes', { state: 'resolved' }],
    ['its signal aborts', { state: 'rejected', error: { message: 'enough' } }],
    ['its leadership is lost', { state: 'rejected', error: { code: 'LEADERSHIP_ENDED' } }],
  ])('does not call the work with an ended leadership if %s right after the election', async (what, outcome) => {
    for (let turns = 0; turns <= 16; turns += 1) {
      const world = new World();
      const caller = new AbortController();
      const member = world.member('a');
      const end = async (leadership: Leadership): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        if (what === 'its member closes') void member.close();
        else if (what === 'its signal aborts') caller.abort(new Error('enough'));
        else leadership.reportTerm(9n);
      };
      const work = async (leadership: Leadership): Promise<void> => {
        expect(leadership.isValid()).toBe(true);
        await leadership.ended;
      };
      const trying = track(member.election(NAME, { onElected: end }).tryLead(work, { signal: caller.signal }));
      await world.pass(TTL_MS);
      expect(trying, `after ${turns} turns`).toMatchObject(outcome);
      await world.close();
      world.expectNothingLeft();
    }
  });

  it('is refused while this member campaigns or leads', async () => {
    const { world, member } = await led();
    await expect(tryInVain(member)).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    const other = world.member('b');
    const campaign = quiet(other.election(NAME).campaign());
    await expect(tryInVain(other)).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    await world.close();
    await expect(campaign).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
  });

  it('is refused for work that is no function, and for options that it does not have', async () => {
    const election = new World().member('a').election(NAME);
    for (const wrong of [[5], [() => {}, { retry: false }], [() => {}, { signal: 5 }]])
      await expect(Reflect.apply(election.tryLead, election, wrong)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
