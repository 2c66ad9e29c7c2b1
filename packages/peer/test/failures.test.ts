/** Failures of a member's start, of its transport and of its application. */

import { describe, expect, it } from 'vitest';
import { bully, PeerMember, type Position, type Transport } from '../src/index.ts';
import { Group, logger, TestStorage } from './support.ts';

describe('a member without a store', () => {
  it('causes no unhandled rejection if its start fails after the campaign was aborted', async () => {
    await using group = new Group(['x']);
    const storage = new TestStorage();
    storage.load = async () => Promise.reject(new Error('the vote cannot be read'));
    const member = group.member('x', { storage });
    const reason = new Error('SIGTERM');
    await expect(member.campaign({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    // An unhandled rejection fails this test run.
    await expect(member.campaign()).rejects.toThrow('the vote cannot be read');
  });

  it.each<[string, () => Position]>([
    ['throws', () => expect.unreachable('the database is closed')],
    ['answers late', () => Promise.resolve() as never],
    ['answers with nothing', () => undefined as never],
    ['is negative', () => ({ lastTerm: 0n, lastIndex: -1n })],
    ['is too high for a message', () => ({ lastTerm: 2n ** 63n, lastIndex: 0n })],
  ])('ends where its position %s, and can be closed', async (_, position) => {
    await using group = new Group(['x']);
    let isWell = true;
    const member = group.member('x', { position: () => (isWell ? { lastTerm: 0n, lastIndex: 0n } : position()) });
    const leadership = await group.clock.run(member.campaign());
    isWell = false;
    await group.clock.advance(60_000);
    expect(await leadership.ended).toMatchObject({ reason: 'positionUnknown', lost: true });
    await expect(member.campaign()).rejects.toMatchObject({ code: 'POSITION_UNKNOWN' });
    await group.clock.run(member.close());
  });

  it('knows the term before its last vote if it crashed before that vote was written', async () => {
    await using group = new Group(['x']);
    const member = group.member('x');
    const storage = group.storages.get('x')!;
    const { term } = await group.clock.run(member.campaign());
    storage.stalled = true;
    await group.clock.run(member.leadership!.resign());
    member.campaign().catch(() => {});
    await group.clock.advance(60_000);
    expect(member.highestTerm).toBe(term + 1n);
    await group.clock.run(member.close());
    const again = group.member('x');
    await group.clock.run(again.start());
    expect(again.highestTerm).toBe(term);
  });

  it('can be closed after its position has become unknown', async () => {
    await using group = new Group(['x']);
    let isWell = true;
    const position = (): Position => (isWell ? { lastTerm: 0n, lastIndex: 0n } : expect.unreachable('the database is closed'));
    const member = group.member('x', { position });
    const leadership = await group.clock.run(member.campaign());
    isWell = false;
    await group.clock.run(member.close());
    expect(await leadership.ended).toMatchObject({ reason: 'memberClosed', lost: false });
  });

  it.each([
    ['read', 'load'],
    ['write', 'save'],
    ['close', 'close'],
  ])('is closed within seconds while a %s of its vote hangs, and nobody has to call again', async (_, call) => {
    await using group = new Group(['x']);
    const storage = new TestStorage();
    const hung = Promise.withResolvers<undefined>();
    Object.assign(storage, { [call]: async () => hung.promise });
    const member = group.member('x', { storage });
    const campaign = member.campaign();
    campaign.catch(() => {});
    await group.clock.advance(10_000);
    const beganMs = group.clock.monotonic();
    await group.clock.run(Promise.all([member.close(), member.shutdown()]));
    expect(group.clock.monotonic() - beganMs).toBeLessThan(5_000);
    if (call !== 'close') await expect(campaign).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    expect([group.clock.timers, group.clock.holds]).toEqual([0, 0]);
    hung.resolve(undefined);
    await group.clock.advance(10_000);
    expect([group.clock.timers, group.clock.holds]).toEqual([0, 0]);
  });

  it('opens no transport if its storage answers only after its close, and closes the storage', async () => {
    await using group = new Group(['x']);
    const [storage, loaded] = [new TestStorage(), Promise.withResolvers<undefined>()];
    storage.load = async () => loaded.promise;
    let opened = 0;
    const open: Transport['open'] = async (options) => {
      opened += 1;
      return group.network.open(options);
    };
    const member = group.member('x', { storage, transport: { open } });
    const starting = member.start();
    await group.clock.run(member.close());
    await expect(starting).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    expect([opened, storage.isClosed]).toEqual([0, false]);
    loaded.resolve(undefined);
    await group.clock.advance(10_000);
    expect([opened, storage.isClosed]).toEqual([0, true]);
    expect([group.clock.timers, group.clock.holds]).toEqual([0, 0]);
  });

  it('reports within seconds that its transport does not open, although its storage cannot be closed', async () => {
    await using group = new Group(['x']);
    const storage = new TestStorage();
    storage.close = async () => new Promise(() => {});
    const transport: Transport = { open: async () => Promise.reject(new Error('the port is taken')) };
    const member = group.member('x', { storage, transport });
    const beganMs = group.clock.monotonic();
    await expect(group.clock.run(member.start(), { withinMs: 5_000 })).rejects.toThrow('the port is taken');
    expect(group.clock.monotonic() - beganMs).toBeLessThan(5_000);
    await group.clock.run(member.close());
    expect(group.clock.timers).toBe(0);
  });

  it('ends its views and its start when it closes, or their caller gives up, while it starts', async () => {
    await using group = new Group(['x']);
    const storage = new TestStorage();
    storage.load = async () => new Promise(() => {});
    const member = group.member('x', { storage });
    const caller = new AbortController();
    const memberships = member.memberships();
    const [aborted, closed, starting] = [member.views({ signal: caller.signal }).next(), memberships.next(), member.start()];
    // An unhandled rejection fails this test run.
    void member.start();
    await group.clock.advance(10);
    caller.abort();
    expect(await group.clock.run(aborted)).toEqual({ done: true, value: undefined });
    await group.clock.run(member.close());
    expect([await closed, await memberships.next()]).toMatchObject([{ done: false }, { done: true }]);
    await expect(starting).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    expect([group.clock.timers, group.clock.holds]).toEqual([0, 0]);
  });

  it('shows that it knows of no leader, and ends its views, when it has been closed', async () => {
    await using group = new Group(['x']);
    const member = group.member('x');
    await member.start();
    await group.clock.run(member.close());
    const views = member.views();
    expect([await views.next(), await views.next()]).toEqual([
      { done: false, value: { state: 'unknown' } },
      { done: true, value: undefined },
    ]);
  });

  it('leaves no leadership behind if it is closed at any moment of its election', async () => {
    for (let later = 0; later < 30; later += 1) {
      await using group = new Group(['x']);
      const storage = new TestStorage();
      const member = group.member('x', { storage });
      const closing = Promise.withResolvers<void>();
      storage.save = async () => {
        // The first vote is saved after some promise reactions, and the member is closed meanwhile.
        closing.resolve(member.close());
        for (let reactions = 0; reactions < later; reactions += 1) await Promise.resolve();
      };
      member.campaign().catch(() => {});
      await group.clock.run(closing.promise);
      await group.clock.advance(1_000);
      expect([later, group.clock.timers, group.clock.holds]).toEqual([later, 0, 0]);
    }
  });

  it('says that its storage does not answer, once for each call, and nothing if it answers', async () => {
    await using group = new Group(['x']);
    const log = logger();
    const slow = (): readonly object[] =>
      log.lines.filter(({ message }) => message === 'the vote storage does not answer').map(({ fields }) => fields);
    const storage = new TestStorage();
    const load = storage.load.bind(storage);
    storage.load = async () => {
      await new Promise<void>((resolve) => void group.clock.schedule(5_000, resolve));
      return load();
    };
    const member = group.member('x', { storage, logger: log });
    const starting = member.start();
    await group.clock.advance(4_000);
    expect(slow()).toMatchObject([{ doing: 'load' }]);
    await group.clock.run(starting);
    await group.clock.run(member.campaign());
    await group.clock.advance(10_000);
    expect(slow()).toHaveLength(1);
    storage.stalled = true;
    await group.clock.run(member.leadership!.resign());
    member.campaign().catch(() => {});
    await group.clock.advance(60_000);
    expect(slow()).toMatchObject([{ doing: 'load' }, { doing: 'save' }]);
    await group.clock.run(member.close());
    expect(group.clock.timers).toBe(0);
  });

  it('can be closed although its storage cannot', async () => {
    await using group = new Group(['x']);
    const storage = new TestStorage();
    storage.close = async () => Promise.reject(new Error('EIO'));
    const member = group.member('x', { storage });
    await member.start();
    await group.clock.run(member.close());
    expect(group.clock.timers).toBe(0);
  });

  it('leaves no timer behind if its transport does not open', async () => {
    await using group = new Group(['x']);
    const transport: Transport = { open: async () => Promise.reject(new Error('the port is taken')) };
    const member = new PeerMember({ memberId: 'x', algorithm: bully({ members: ['x', 'y'] }), transport, clock: group.clock });
    await expect(group.clock.run(member.start())).rejects.toThrow('the port is taken');
    await group.clock.run(member.close());
    expect(group.clock.timers).toBe(0);
  });
});
