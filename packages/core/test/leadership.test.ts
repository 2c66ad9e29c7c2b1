import { describe, expect, it } from 'vitest';
import { StoreError, type Leadership, type LeadershipEnd, type Member, type MemberOptions } from '../src/index.ts';
import { failing, relay } from './support/relay.ts';
import { track } from './support/track.ts';
import { uncaughtDuring } from './support/uncaught.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World, type WorldOptions } from './support/world.ts';

const DRAIN_MS = TTL_MS / 10;

interface Led {
  readonly world: World;
  readonly member: Member;
  readonly leadership: Leadership;
}

async function led(options: WorldOptions = {}, memberOptions: MemberOptions = {}): Promise<Led> {
  const world = new World(options);
  const member = world.member('a', memberOptions);
  return { world, member, leadership: await world.run(member.election(NAME).campaign()) };
}

/** Another one in the queue. */
async function behind(world: World, memberId: string, value?: unknown): Promise<ReturnType<typeof track<Leadership>>> {
  const next = track(world.member(memberId).election(NAME, { value }).campaign());
  await world.pass(20);
  return next;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function after(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => {
    world.clock.schedule(ms, resolve);
  });
}

describe('a leadership', () => {
  it('is valid from the moment it is given, and says for how long', async () => {
    const { leadership } = await led();
    expect([leadership.term, leadership.memberId, leadership.isValid(), leadership.state]).toEqual([1n, 'a', true, 'valid']);
    expect(leadership.remainingMs()).toBeCloseTo(TTL_MS - 198.02 - DRAIN_MS, 1);
    expect(() => leadership.assertValid()).not.toThrow();
    expect(leadership.signal.aborted).toBe(false);
  });

  it('is suspect while a renewal is overdue, and valid again after it', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.refuse();
    await world.pass(5_000);
    expect([leadership.state, leadership.isValid()]).toEqual(['suspect', true]);
    store.link.heal();
    await world.pass(2_000);
    expect(leadership.state).toBe('valid');
  });

  it('throws its end from assertValid, once it has ended', async () => {
    const { world, leadership } = await led();
    await world.run(leadership.resign());
    expect(() => leadership.assertValid()).toThrow(
      expect.objectContaining({ code: 'LEADERSHIP_ENDED', details: expect.objectContaining({ reason: 'resigned' }) }),
    );
    expect([leadership.state, leadership.remainingMs(), leadership.isValid()]).toEqual(['ended', 0, false]);
  });
});

/** How each loss is brought about, and the reasons that may be given for it. */
const losses: Readonly<Record<string, readonly [(led: Led) => void, readonly string[]]>> = {
  'its record is deleted': [({ world }) => void world.server.deleteKey(LEADER), ['recordDeleted']],
  "its record is another's": [
    ({ world }) => world.put(LEADER, { v: 1, term: '9', memberId: 'x', incarnation: 'i', entry: 'e' }),
    ['recordReplaced'],
  ],
  'its record is no record': [({ world }) => world.put(LEADER, 'hello'), ['recordReplaced']],
  'its entry is deleted': [({ world }) => void world.server.deleteKey(String(entryOf(world))), ['entryDeleted']],
  'its lease is ended': [
    ({ world }) => void world.server.expireLease(world.leaseOf('a')),
    ['leaseExpired', 'recordDeleted', 'entryDeleted'],
  ],
  'its wall clock jumps': [({ world }) => world.clock.advanceWall(3_600_000), ['clockJump']],
  'a fence has seen a newer term': [({ leadership }) => leadership.reportTerm(7n), ['termBehind']],
};

function entryOf(world: World): unknown {
  return (world.json(TERM) as { entry?: unknown } | undefined)?.entry;
}

describe.each(Object.entries(losses))('when %s', (_, [strike, reasons]) => {
  it('belief ends, then the signal aborts, then it is told, then the work drains, and only then the keys go', async () => {
    const led_ = await led();
    const { world, leadership } = led_;
    const takesEntry = reasons.includes('entryDeleted');
    const steps: string[] = [];
    leadership.signal.addEventListener('abort', () => {
      steps.push(`abort, ${leadership.isValid() ? 'valid' : 'not valid'}`);
      leadership.waitUntil(after(world, 400).then(() => steps.push(`stopped, entry ${world.queue().length}`)));
    });
    void leadership.ended.then(() => steps.push('ended'));
    void leadership.released.then(() => steps.push('released'));
    strike(led_);
    await world.pass(1_000);
    expect(steps).toEqual(['abort, not valid', 'ended', `stopped, entry ${takesEntry ? 0 : 1}`, 'released']);
    expect(world.queue()).toEqual([]);
  });

  it('the end explains itself, once, to all who ask', async () => {
    const led_ = await led();
    const { world, leadership } = led_;
    await world.pass(4_000);
    strike(led_);
    await world.pass(600);
    const end: LeadershipEnd = await leadership.ended;
    expect(reasons).toContain(end.reason);
    expect(end).toMatchObject({ term: 1n, lost: true, errors: expect.any(Array), loopBlockedMs: expect.any(Number) });
    expect(leadership.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', details: end });
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect((await leadership.ended).reason).toBe(end.reason);
    expect(world.events.about('leadership ended')).toMatchObject([{ election: NAME, reason: end.reason }]);
  });
});

describe('the drain', () => {
  it('lasts for the whole of drainMs where nobody tells of any work, and ends at once when resign gives its word', async () => {
    for (const word of [false, true]) {
      const { world, leadership } = await led();
      const released = track(leadership.released);
      world.server.deleteKey(LEADER);
      await world.pass(DRAIN_MS - 1);
      expect(released.state).toBe('pending');
      if (word) void leadership.resign();
      await world.pass(word ? 0 : 1);
      expect(released.state).toBe('resolved');
    }
  });

  it('takes no time where leadership is given up and nobody told of any work', async () => {
    const { world, leadership } = await led();
    expect(await world.timed(leadership.resign())).toBe(0);
  });

  it('waits for every promise it was given, however they settle', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(after(world, 200));
    leadership.waitUntil(after(world, 500).then(() => Promise.reject(new Error('could not'))));
    expect(await world.timed(leadership.resign())).toBe(500);
    expect(world.events.about('did not stop')).toEqual([]);
  });

  it('waits for what it is given while it waits', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(after(world, 200).then(() => leadership.waitUntil(after(world, 300))));
    expect(await world.timed(leadership.resign())).toBe(500);
  });

  it('ends after drainMs, and reports what is stuck', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(new Promise(() => {}));
    expect(await world.timed(leadership.resign())).toBe(DRAIN_MS);
    expect(world.events.about('did not stop')).toMatchObject([{ election: NAME, term: 1n }]);
    expect(world.queue()).toEqual([]);
  });

  it("never goes beyond the lease's own end, less the margin", async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', { drainMs: 2_000 }, store).election(NAME).campaign());
    const released = track(leadership.released);
    leadership.waitUntil(new Promise(() => {}));
    store.link.cutOff();
    await world.pass(TTL_MS - 199);
    expect([leadership.isValid(), released.state]).toEqual([false, 'pending']);
    await world.pass(2);
    expect(world.events.about('did not stop').length).toBe(1);
  });

  it('of work that was told of and is over is no word of the rest: lost, it lasts for the whole of drainMs', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(Promise.resolve());
    await world.pass(10);
    const released = track(leadership.released);
    world.server.deleteKey(LEADER);
    await world.pass(DRAIN_MS - 1);
    expect(released.state).toBe('pending');
  });

  it('of lead ends at once when the work gives its word by resigning, also after a loss', async () => {
    const { world, member, leadership } = await led();
    await world.run(leadership.resign());
    let tookMs = Number.NaN;
    track(
      member.election(NAME).lead(async (mine) => {
        await mine.ended;
        const from = world.clock.monotonic();
        await mine.resign();
        tookMs = world.clock.monotonic() - from;
        return new Promise(() => {});
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(tookMs).toBe(0);
  });
});

describe('resigning', () => {
  it('writes down why, deletes the record and the entry, and lets the next one lead at once', async () => {
    const { world, leadership } = await led();
    const next = await behind(world, 'b');
    await world.run(leadership.resign());
    await world.pass(10);
    expect(next.value?.term).toBe(2n);
    expect(await leadership.ended).toMatchObject({ reason: 'resigned', lost: false });
  });

  it('is idempotent', async () => {
    const { world, leadership } = await led();
    await world.run(Promise.all([leadership.resign(), leadership.resign()]));
    await world.run(leadership.resign());
    expect(world.events.about('leadership ended').length).toBe(1);
  });

  it('is tried until it is certain, while the store cannot be reached', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.refuse();
    const resigning = track(leadership.resign());
    await world.pass(3_000);
    expect([resigning.state, leadership.isValid()]).toEqual(['pending', false]);
    store.link.heal();
    await world.pass(3_000);
    expect([resigning.state, world.queue()]).toEqual(['resolved', []]);
  });

  it.each(['timeout', 'reset'] as const)('whose answer is lost (%s) is not done twice to the one who follows', async (how) => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { verbs: ['compareAndSwap'], how });
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect([next.value?.term, next.value?.isValid()]).toEqual([2n, true]);
  });
});

describe('an abort listener that throws', () => {
  it('harms no leadership: the order of the loss is kept, and the process is told by Node', async () => {
    const { world, leadership } = await led();
    const caught = await uncaughtDuring(async () => {
      leadership.signal.addEventListener('abort', () => {
        throw new Error('the listener failed');
      });
      await world.run(leadership.resign());
    });
    expect(caught).toMatchObject([{ message: 'the listener failed' }]);
    expect([leadership.isValid(), world.queue(), world.json(LEADER)]).toEqual([false, [], undefined]);
  });

  it('may resign from within', async () => {
    const { world, leadership } = await led();
    leadership.signal.addEventListener('abort', () => void leadership.resign());
    world.server.deleteKey(LEADER);
    await world.pass(1);
    expect(world.queue()).toEqual([]);
  });
});

describe('guard and swap', () => {
  it('write, all or nothing, while the term is the last one', async () => {
    const { world, leadership } = await led();
    const result = await world.run(leadership.swap([{ key: 'work/1', expect: null, put: bytes('x') }]));
    expect(result).toEqual({ swapped: true, revisions: [expect.any(String)] });
    expect(await world.run(leadership.swap([]))).toEqual({ swapped: true, revisions: [] });
  });

  it('tell which of their own changes failed, counted from 0', async () => {
    const { world, leadership } = await led();
    world.put('work/2', 'there');
    const changes = [
      { key: 'work/1', expect: null, put: bytes('x') },
      { key: 'work/2', expect: null, put: bytes('x') },
    ];
    const result = await world.run(leadership.swap(changes));
    expect(result).toMatchObject({ swapped: false, failed: [{ index: 1, current: { key: 'work/2' } }] });
    expect(leadership.isValid()).toBe(true);
    expect(world.server.keys()).not.toContain('work/1');
  });

  it('are refused once another has the term, whatever this process believes', async () => {
    const { world, member, leadership } = await led();
    await world.run(leadership.resign());
    const stale = leadership.guard();
    const second = await world.run(member.election(NAME).campaign());
    const zombie = world.connect();
    const put = { key: 'work/1', expect: null, put: bytes('x') };
    expect(await world.run(zombie.compareAndSwap([stale, put], { timeoutMs: 100 }))).toMatchObject({ swapped: false });
    expect(await world.run(zombie.compareAndSwap([second.guard(), put], { timeoutMs: 100 }))).toMatchObject({ swapped: true });
  });

  it('end leadership with LEADERSHIP_ENDED when the guard fails', async () => {
    const { world, leadership } = await led();
    world.put(TERM, { v: 1, term: '9', memberId: 'x', incarnation: 'i', entry: 'e' });
    await expect(world.run(leadership.swap([{ key: 'work/1', expect: null, put: bytes('x') }]))).rejects.toMatchObject({
      code: 'LEADERSHIP_ENDED',
    });
    expect(leadership.isValid()).toBe(false);
  });

  it('ask nothing of the store once leadership has ended', async () => {
    const { world, leadership } = await led();
    await world.run(leadership.resign());
    const before = world.server.requests.compareAndSwap;
    await expect(leadership.swap([{ key: 'work/1', expect: null, put: bytes('x') }])).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect(world.server.requests.compareAndSwap).toBe(before);
  });

  it.each([LEADER, TERM, `${CANDIDATES}/x`, 'members/a', 'groups/g/a', 'elections'])('keep off the keys of the SDK: %s', async (key) => {
    const { leadership } = await led();
    await expect(leadership.swap([{ key, expect: null, put: bytes('x') }])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it("leave a session alone whose caller has bound a key to somebody else's lease that is gone", async () => {
    const { world, leadership } = await led();
    const put = { key: 'work/1', expect: null, put: bytes('x'), lease: 'lease-99' };
    await expect(world.run(leadership.swap([put]))).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(leadership.isValid()).toBe(true);
  });

  it('pass an abort and an unknown outcome on to the caller', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    const change = { key: 'work/1', expect: null, put: bytes('x') };
    await expect(leadership.swap([change], { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    store.link.dropReplies(1, { verbs: ['compareAndSwap'], how: 'reset' });
    await expect(world.run(leadership.swap([change]))).rejects.toMatchObject({ outcome: 'unknown' });
    expect([leadership.isValid(), world.server.keys().includes('work/1')]).toEqual([true, true]);
  });
});

describe('publishing', () => {
  it('shows values in the order in which they were given, within the term', async () => {
    const { world, leadership } = await led();
    await world.run(Promise.all([1, 2, 3, 4, 5].map((n) => leadership.publish({ n }))));
    expect(world.json(LEADER)).toMatchObject({ term: '1', value: { n: 5 } });
  });

  it.each(['timeout', 'reset'] as const)('resolves when it is certain, although the answer was lost (%s)', async (how) => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.dropReplies(1, { verbs: ['compareAndSwap'], how });
    await world.run(Promise.all([leadership.publish({ n: 1 }), leadership.publish({ n: 2 })]));
    expect(world.json(LEADER)).toMatchObject({ value: { n: 2 } });
    expect(leadership.isValid()).toBe(true);
  });

  it('is not undone by an earlier try that is applied late', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.holdWrites('compareAndSwap');
    const first = track(leadership.publish({ n: 1 }));
    await world.pass(2_600);
    store.link.holdWrites('revokeLease');
    const second = leadership.publish({ n: 2 });
    await world.run(second);
    store.link.release();
    await world.pass(1_000);
    expect([first.state, world.json(LEADER)]).toMatchObject(['resolved', { value: { n: 2 } }]);
  });

  it('rejects with LEADERSHIP_ENDED when leadership ends meanwhile, and leaves nothing behind', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.holdWrites('compareAndSwap');
    const publishing = track(leadership.publish({ n: 1 }));
    await world.pass(10);
    const resigning = leadership.resign();
    store.link.release();
    await world.run(resigning);
    await world.pass(TTL_MS);
    expect([world.json(LEADER), world.queue()]).toEqual([undefined, []]);
    expect(publishing.state).not.toBe('pending');
    await expect(leadership.publish({ n: 2 })).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
  });

  it('ends leadership when the term is no longer its own, instead of trying for ever', async () => {
    const { world, leadership } = await led();
    const { term: _, ...raised } = world.json(TERM) as { term: string };
    world.put(TERM, { ...raised, term: '40' });
    await expect(world.run(leadership.publish({ n: 1 }), TTL_MS)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect(leadership.isValid()).toBe(false);
  });

  it('rejects with the reason of its signal, also while it is its turn to wait', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    store.link.refuse();
    const caller = new AbortController();
    const first = track(leadership.publish({ n: 1 }));
    const second = track(leadership.publish({ n: 2 }, { signal: caller.signal }));
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass(10);
    expect(second.error).toMatchObject({ message: 'enough' });
    store.link.heal();
    await world.pass(2_000);
    expect([first.state, world.json(LEADER)]).toMatchObject(['resolved', { value: { n: 1 } }]);
  });

  it('refuses what JSON cannot hold, and a value that is too large, and leads on', async () => {
    const { world, leadership } = await led({ maxValueBytes: 1_000 });
    await expect(leadership.publish(5n)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(world.run(leadership.publish('x'.repeat(2_000)))).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await world.run(leadership.publish('short'));
    expect(leadership.isValid()).toBe(true);
  });
});

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

  it('is refused where there is nobody of that name, and leadership goes on', async () => {
    const { world, leadership } = await led(options);
    await behind(world, 'b');
    await expect(world.run(leadership.handover('x'))).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      details: { memberId: 'x', candidates: ['b'] },
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
    const heir = world.member('b');
    const caller = new AbortController();
    track(heir.election(NAME).campaign({ signal: caller.signal }));
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
    const world = new World(options);
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { verbs: ['compareAndSwap'], how: 'reset' });
    await world.run(leadership.handover());
    await world.pass(TTL_MS);
    expect([next.value?.term, next.value?.isValid(), world.queue()]).toEqual([2n, true, ['b']]);
  });

  it('takes with it what was published last, although nobody knew whether it was', async () => {
    const world = new World(options);
    const store = world.connect();
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { verbs: ['compareAndSwap'] });
    track(leadership.publish({ n: 1 }));
    await world.pass(10);
    await world.run(leadership.handover('b'));
    await world.pass(10);
    expect(next.value?.term).toBe(2n);
  });

  it('to an heir whose lease is gone by then costs its holder nothing but this leadership', async () => {
    const world = new World(options);
    const behindStore = world.connect();
    // A store that says that the lease is gone rather than that the entry is.
    const store = relay(behindStore, {
      compareAndSwap: async (changes, call) => {
        if (changes.some((change) => 'put' in change && change.key !== LEADER && change.key.startsWith(CANDIDATES))) {
          throw new StoreError('LEASE_EXPIRED', 'refused', 'the lease of the heir is gone');
        }
        return behindStore.compareAndSwap(changes, call);
      },
    });
    const member = world.member('a', {}, store);
    const leadership = await world.run(member.election(NAME).campaign());
    const other = await world.run(member.election('other').campaign());
    await behind(world, 'b');
    await expect(world.run(leadership.handover('b'))).rejects.toMatchObject({ code: 'HANDOVER_FAILED' });
    await world.pass(TTL_MS);
    expect(other.isValid()).toBe(true);
  });

  it('to a candidate of a newer version, whose entry cannot be read, is refused before belief ends', async () => {
    const { world, leadership } = await led(options);
    world.server.put(`${CANDIDATES}/n~i~1~fifo~`, bytes('{"v":2}'));
    await expect(world.run(leadership.handover())).rejects.toMatchObject({ code: expect.stringMatching(/NO_SUCH_CANDIDATE|NEWER_FORMAT/) });
    expect(leadership.isValid()).toBe(true);
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

describe('a term that a fence reports', () => {
  it('is no news unless it is newer', async () => {
    const { leadership } = await led();
    leadership.reportTerm(1n);
    expect(leadership.isValid()).toBe(true);
  });

  it.each([5, 0n, -1n, '5', 2n ** 63n])('must be a term: %s', async (seen) => {
    const { leadership } = await led();
    expect(() => Reflect.apply(leadership.reportTerm, leadership, [seen])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('a watch that lags or cannot go on', () => {
  it('ends no leadership by itself: the lease decides', async () => {
    const world = new World();
    const behindStore = world.connect();
    let refusing = false;
    const store = relay(behindStore, {
      watch: (key, options) => (refusing ? failing(new StoreError('PERMISSION_DENIED', 'refused', 'no')) : behindStore.watch(key, options)),
    });
    refusing = true;
    const leadership = await world.run(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(3 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
    refusing = false;
    await world.pass(TTL_MS);
    world.server.deleteKey(LEADER);
    await world.pass(10);
    expect((await leadership.ended).reason).toBe('recordDeleted');
  });
});
