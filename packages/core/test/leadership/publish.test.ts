import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/index.ts';
import { bytes, led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

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

  it('are refused once another member has the term, although isValid() is still true', async () => {
    const { world, member, leadership } = await led();
    await world.run(leadership.resign());
    const stale = leadership.guard();
    const second = await world.elect(member);
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

  it('take as many changes as the store allows beside the guard, and count those of the caller', async () => {
    const { world, leadership } = await led({ maxChanges: 5 });
    const changes = Array.from({ length: 5 }, (_, i) => ({ key: `work/${i}`, expect: null, put: bytes('x') }));
    const before = world.server.requests.compareAndSwap;
    await expect(leadership.swap(changes)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      outcome: 'refused',
      message: '5 changes in one swap of a leader: 4 are allowed (the store allows 5, and the guard is one)',
    });
    expect([world.server.requests.compareAndSwap, leadership.isValid()]).toEqual([before, true]);
    expect(await world.run(leadership.swap(changes.slice(1)))).toMatchObject({ swapped: true });
    expect(world.server.keys().filter((key) => key.startsWith('work/'))).toHaveLength(4);
  });

  it('do not end the session if the caller has bound a key to another lease that is gone', async () => {
    const { world, leadership } = await led();
    const put = { key: 'work/1', expect: null, put: bytes('x'), lease: 'lease-99' };
    await expect(world.run(leadership.swap([put]))).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(leadership.isValid()).toBe(true);
  });

  it('pass an abort and an unknown outcome on to the caller', async () => {
    const { world, store, leadership } = await led();
    const change = { key: 'work/1', expect: null, put: bytes('x') };
    await expect(leadership.swap([change], { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
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

  it('numbers the values of a term, so that observers know which of two is older', async () => {
    const { world, store, leadership } = await led();
    expect(world.json(LEADER)).not.toHaveProperty('publication');
    await world.run(leadership.publish('a'));
    expect(world.json(LEADER)).toMatchObject({ value: 'a', publication: 1 });
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    await world.run(Promise.all([leadership.publish('b'), leadership.publish('c')]));
    expect(world.json(LEADER)).toMatchObject({ value: 'c', publication: 3 });
  });

  it.each(['timeout', 'reset'] as const)('resolves when it is certain, although the answer was lost (%s)', async (how) => {
    const { world, store, leadership } = await led();
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how });
    await world.run(Promise.all([leadership.publish({ n: 1 }), leadership.publish({ n: 2 })]));
    expect(world.json(LEADER)).toMatchObject({ value: { n: 2 } });
    expect(leadership.isValid()).toBe(true);
  });

  it('takes one request each while nothing goes wrong', async () => {
    const { world, leadership } = await led();
    const before = world.server.requests;
    for (const n of [1, 2, 3]) await world.run(leadership.publish({ n }));
    const { compareAndSwap, read } = world.server.requests;
    expect([compareAndSwap - before.compareAndSwap, read - before.read]).toEqual([3, 0]);
  });

  it('is tried again when neither the write nor the look at it was answered', async () => {
    const { world, store, leadership } = await led();
    store.link.dropReplies(2, { operations: ['compareAndSwap', 'read'], how: 'reset' });
    await world.run(leadership.publish({ n: 1 }));
    expect([leadership.isValid(), world.json(LEADER)]).toMatchObject([true, { value: { n: 1 } }]);
  });

  const faults: Readonly<Record<string, (world: World) => void>> = {
    recordDeleted: (world) => void world.server.deleteKey(LEADER),
    recordReplaced: (world) => world.put(LEADER, { v: 1, term: '9', memberId: 'x', incarnation: 'i', entry: 'e' }),
  };
  it.each(Object.entries(faults))('notices what the watch has not shown yet: %s', async (reason, injectFault) => {
    const world = new World();
    const behindStore = world.connect();
    const store = relay(behindStore, { watch: silent });
    const leadership = await world.elect(world.member('a', {}, store));
    injectFault(world);
    await expect(world.run(leadership.publish({ n: 1 }))).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED', details: { reason } });
    expect(leadership.isValid()).toBe(false);
  });

  it('that fails is among the errors that explain a loss', async () => {
    const { world, store, leadership } = await led();
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    await expect(world.run(leadership.swap([{ key: 'work/1', expect: null, put: bytes('x') }]))).rejects.toMatchObject({
      outcome: 'unknown',
    });
    leadership.reportTerm(7n);
    expect((await leadership.ended).errors).toMatchObject([{ code: 'CONNECTION_LOST' }]);
  });

  it.each(['publish', 'swap'] as const)('that its caller gave up is not among them: %s', async (operation) => {
    const { world, store, leadership } = await led();
    store.link.holdWrites('compareAndSwap');
    const caller = new AbortController();
    const { signal } = caller;
    const change = { key: 'work/1', expect: null, put: bytes('x') };
    const writing = track<unknown>(
      operation === 'publish' ? leadership.publish({ n: 1 }, { signal }) : leadership.swap([change], { signal }),
    );
    await world.pass(10);
    caller.abort(new Error('enough'));
    await world.pass(10);
    leadership.reportTerm(7n);
    expect([writing.error, (await leadership.ended).errors]).toMatchObject([{ message: 'enough' }, []]);
  });

  it('is not undone by an earlier try that is applied late', async () => {
    const { world, store, leadership } = await led();
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
    const { world, store, leadership } = await led();
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

  it.each(['no answer', 'no store'])('is over when leadership is, with its calls and its waits: %s', async (what) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leadership = await world.elect(member);
    if (what === 'no store') store.link.refuse();
    else store.link.holdWrites('compareAndSwap');
    const publishing = [1, 2].map((n) => track(leadership.publish({ n })));
    await world.pass(10);
    world.server.deleteKey(LEADER);
    if (what === 'no store') leadership.reportTerm(9n);
    await world.pass(10);
    expect(publishing).toMatchObject([1, 2].map(() => ({ state: 'rejected', error: { code: 'LEADERSHIP_ENDED' } })));
    store.link.heal();
    await world.run(member.close());
    expect(world.clock.timers).toBe(0);
  });

  it('is over when leadership is, although a successor has not read its record yet', async () => {
    const { world, leadership } = await led({ swapSharesRevision: false });
    const store = world.connect();
    const election = world.member('b', {}, store).election(NAME);
    const campaigning = election.campaign();
    await world.pass(20);
    await world.run(leadership.handover());
    const successor = await world.run(campaigning);
    store.link.refuse();
    const publishing = track(successor.publish({ n: 1 }));
    await world.pass(10);
    successor.reportTerm(9n);
    await world.pass(TTL_MS);
    expect(publishing).toMatchObject({ state: 'rejected', error: { code: 'LEADERSHIP_ENDED' } });
  });

  it('ends leadership when the term is no longer its own, instead of trying for ever', async () => {
    const { world, leadership } = await led();
    const { term: _, ...raised } = world.json(TERM) as { term: string };
    world.put(TERM, { ...raised, term: '40' });
    await expect(world.run(leadership.publish({ n: 1 }), TTL_MS)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect(leadership.isValid()).toBe(false);
  });

  it('rejects with the reason of its signal, also while it is its turn to wait', async () => {
    const { world, store, leadership } = await led();
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

  it('ends at once if its caller aborts with an error that a retry may solve', async () => {
    const { world, store, leadership } = await led();
    store.link.holdWrites('compareAndSwap');
    const caller = new AbortController();
    const writing = track(leadership.publish({ n: 1 }, { signal: caller.signal }));
    await world.pass(10);
    caller.abort(new StoreError('UNREACHABLE', 'notSent', 'no server answers'));
    await world.pass(TTL_MS);
    expect([writing.error, leadership.isValid()]).toMatchObject([{ code: 'UNREACHABLE' }, true]);
  });

  it('refuses what JSON cannot hold, and a value that is too large, and leads on', async () => {
    const { world, leadership } = await led({ maxValueBytes: 1_000 });
    await expect(leadership.publish(5n)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(world.run(leadership.publish('x'.repeat(2_000)))).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await world.run(leadership.publish('short'));
    expect(leadership.isValid()).toBe(true);
  });
});

/** A watch that never tells anything. */
async function* silent(): AsyncGenerator<never, void, undefined> {
  await new Promise<never>(() => {});
}
