/**
 * An election goes on although a call of one member failed and left a key behind: the leader's
 * record, or an entry in the queue. The member lives on, so its lease does not delete the key.
 */

import { describe, expect, it } from 'vitest';
import { type Change, type Leadership, type Member, type Store, StoreError } from '../../src/index.ts';
import { denied, Permission, relay, timeout } from '../support/relay.ts';
import { bytes } from '../support/led.ts';
import { quiet, track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World, type WorldOptions } from '../support/world.ts';

const put = (change: Change | undefined, key: string): boolean => change !== undefined && change.key === key && 'put' in change;
const isClaim = (changes: readonly Change[]): boolean => put(changes[0], LEADER) && changes[0]?.expect === null;

/** Joins a group, so that the member keeps its session after its campaign. */
async function stayAlive(world: World, member: Member): Promise<void> {
  await world.run(member.group('g').join());
}

/** `a` leads, and keeps its session after its leadership. */
async function leaderThatStays(options: WorldOptions = {}): Promise<{ readonly world: World; readonly leader: Leadership }> {
  const world = new World(options);
  const a = world.member('a');
  await stayAlive(world, a);
  return { world, leader: await world.elect(a) };
}

/**
 * `a` leads, and `b`, whose session outlives its campaign, joins the queue. Aborting `caller` ends
 * the campaign of `b`.
 */
async function candidateBehindLeader(
  world: World,
  store: Store,
): Promise<{ readonly leader: Leadership; readonly caller: AbortController; readonly asB: Promise<Leadership> }> {
  const b = world.member('b', {}, store);
  await stayAlive(world, b);
  const leader = await world.elect(world.member('a'));
  const caller = new AbortController();
  return { leader, caller, asB: quiet(b.election(NAME).campaign({ signal: caller.signal })) };
}

/** Whether a new candidate is elected within three ttls and some. */
async function goesOn(world: World): Promise<boolean> {
  return world.settles(quiet(world.member('z').election(NAME).campaign()), 6 * TTL_MS);
}

describe('an election goes on', () => {
  it('when a candidate that looks for its entry withdraws, and finds that it was elected by a handover', async () => {
    const world = new World();
    const link = world.connect();
    let replies = 1;
    const holds: Promise<void>[] = [];
    const store = relay(link, {
      enqueue: async (...call) => {
        await holds[0];
        const entry = await link.enqueue(...call);
        if (replies-- > 0) throw timeout();
        return entry;
      },
    });
    const gate = Promise.withResolvers<void>();
    const { leader, caller, asB } = await candidateBehindLeader(world, store);
    await world.until(() => world.queue().includes('b'));
    holds.push(gate.promise);
    caller.abort();
    await world.settles(asB, 10);
    await world.run(leader.handover('b'));
    expect(world.json(LEADER)).toMatchObject({ memberId: 'b' });
    gate.resolve();
    await world.pass(TTL_MS);
    expect(world.queue()).toEqual([]);
    expect(await goesOn(world)).toBe(true);
  });

  it('when a claim of a successor is applied late, after another one that certainly failed and a withdrawal', async () => {
    const world = new World({ assignableLease: false });
    const link = world.connect();
    let claims = 0;
    let late: (() => Promise<unknown>) | undefined;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        if (!isClaim(changes)) return link.compareAndSwap(changes, options);
        claims += 1;
        if (claims === 1) {
          late = () => link.compareAndSwap(changes, options);
          throw timeout();
        }
        if (claims === 2) throw new StoreError('UNREACHABLE', 'notSent', 'nobody is there');
        return link.compareAndSwap(changes, options);
      },
    });
    const { leader, caller, asB } = await candidateBehindLeader(world, store);
    await world.until(() => world.queue().includes('b'));
    await world.run(leader.handover('b'));
    await world.until(() => claims === 2);
    await world.run(Promise.resolve(late?.()));
    expect(world.json(LEADER)).toMatchObject({ memberId: 'b' });
    caller.abort();
    await world.settles(asB, 10);
    await world.pass(TTL_MS);
    expect(await goesOn(world)).toBe(true);
  });

  it('when a candidate gives up while it joins once more, and was elected by a handover meanwhile', async () => {
    const world = new World();
    const link = world.connect();
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    const store = relay(link, {
      enqueue: async (...call) => {
        calls += 1;
        if (calls === 2) await gate.promise;
        const entry = await link.enqueue(...call);
        if (calls === 1) throw timeout();
        return entry;
      },
    });
    const { leader, caller, asB } = await candidateBehindLeader(world, store);
    await world.until(() => calls === 2);
    await world.run(leader.handover('b'));
    expect(world.json(LEADER)).toMatchObject({ memberId: 'b' });
    caller.abort();
    await world.settles(asB, 10);
    gate.resolve();
    await world.pass(TTL_MS);
    expect(world.queue()).toEqual([]);
    expect(await goesOn(world)).toBe(true);
  });

  it('after a withdrawal that was refused for a while, and a handover to the entry that it left', async () => {
    const world = new World();
    const permission = new Permission(world.connect());
    const { leader, caller, asB } = await candidateBehindLeader(world, permission.store);
    await world.until(() => world.queue().includes('b'));
    await world.pass(20);
    permission.denied = true;
    caller.abort();
    await world.settles(asB, 50);
    permission.denied = false;
    await world.run(leader.handover().catch(() => {}));
    await world.pass(40 * TTL_MS);
    expect(await goesOn(world)).toBe(true);
  });

  it('when a claim was applied, its answer lost, and the read-back refused', async () => {
    const world = new World();
    const link = world.connect();
    let refusing = false;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        const result = await link.compareAndSwap(changes, options);
        if (!isClaim(changes)) return result;
        refusing = true;
        throw timeout();
      },
      read: async (...call) => {
        if (refusing) throw denied();
        return link.read(...call);
      },
    });
    const a = world.member('a', {}, store);
    await stayAlive(world, a).catch(() => {});
    await expect(world.elect(a)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    refusing = false;
    expect(await goesOn(world)).toBe(true);
  });

  it("when the successor's record is too large for the store", async () => {
    const { world, leader } = await leaderThatStays({ maxValueBytes: 1_000 });
    // A version that does not check its value before it joins: it knows of no limit.
    const link = world.connect();
    const b = world.member('b', {}, relay(link, { capabilities: { ...link.capabilities, maxValueBytes: 2 ** 20 } }));
    void quiet(b.election(NAME, { value: 'x'.repeat(950) }).campaign());
    await world.until(() => world.queue().includes('b'));
    await expect(world.run(leader.handover('b'))).rejects.toMatchObject({ code: 'HANDOVER_FAILED' });
    await world.pass(3 * TTL_MS);
    expect(world.json(LEADER), 'the record of a leadership that has ended').toBeUndefined();
  });

  it("when the successor's entry cannot be read", async () => {
    const { world, leader } = await leaderThatStays();
    const other = world.connect();
    const at = { monotonicMs: world.clock.monotonic(), wallMs: world.clock.wall() };
    const lease = await world.run(other.grantLease(60 * TTL_MS, { at, timeoutMs: 100 }));
    const newer = new TextEncoder().encode('{"v":2}');
    await world.run(other.enqueue(CANDIDATES, 'n~0~1~fifo~', newer, lease.id, { timeoutMs: 100 }));
    await expect(world.run(leader.handover())).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(leader.isValid()).toBe(true);
    await world.run(leader.resign());
    expect(world.json(LEADER), 'the record of a leadership that has ended').toBeUndefined();
  });

  it("after somebody has put what cannot be read in the place of the leader's record, and taken it away again", async () => {
    const { world, leader } = await leaderThatStays();
    world.server.put(LEADER, new TextEncoder().encode('hello'));
    await world.run(leader.released);
    world.server.deleteKey(LEADER);
    await world.pass(10);
    expect(await goesOn(world)).toBe(true);
  });

  it('when only the record shows the handover to the successor: the change of its entry never arrives', async () => {
    const world = new World();
    const link = world.connect();
    // A watch on its own entry that lags for ever after its first state; the one on the entry ahead
    // works.
    const store = relay(link, {
      watch: (key, options) => (key.startsWith(`${CANDIDATES}/b~`) ? firstOnly(link.watch(key, options)) : link.watch(key, options)),
    });
    const leader = await world.elect(world.member('a'));
    void quiet(world.member('x').election(NAME).campaign());
    await world.until(() => world.queue().includes('x'));
    const asB = quiet(world.member('b', {}, store).election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    await world.run(leader.handover('b'));
    expect(await world.settles(asB, 200 * TTL_MS)).toBe(true);
  });

  it('when an operator deletes the entry of a successor right after the handover', async () => {
    const world = new World();
    const link = world.connect();
    const b = world.member('b', {}, link);
    await stayAlive(world, b);
    const leader = await world.elect(world.member('a'));
    const x = new AbortController();
    void quiet(world.member('x').election(NAME).campaign({ signal: x.signal }));
    await world.until(() => world.queue().includes('x'));
    const asB = quiet(b.election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    await world.pass(20);
    // The watch may skip states: it shows the entry as it was, then no entry.
    link.link.cutOff();
    await world.run(leader.handover('b'));
    world.server.deleteKey(String(world.json(TERM)?.['entry']));
    x.abort();
    link.link.heal();
    await world.pass(TTL_MS);
    // Elected or not: without its entry it must not go on to lead.
    if (await world.settles(asB, 0)) {
      expect((await asB).isValid()).toBe(true);
      expect(world.entry(String(world.json(TERM)?.['entry'])), 'b leads without its entry').toBeDefined();
      await world.run((await asB).resign());
    }
    expect(await goesOn(world)).toBe(true);
  });

  it('also if the successor cannot delete for more than a ttl what the handover has left', async () => {
    const world = new World();
    const link = world.connect();
    const permission = new Permission(link, { error: timeout });
    const { leader, asB } = await candidateBehindLeader(world, permission.store);
    await world.until(() => world.queue().includes('b'));
    await world.pass(20);
    link.link.cutOff();
    await world.run(leader.handover('b'));
    world.server.deleteKey(String(world.json(TERM)?.['entry']));
    permission.denied = true;
    link.link.heal();
    await world.pass(1.5 * TTL_MS);
    permission.denied = false;
    expect(await world.settles(asB, 6 * TTL_MS)).toBe(true);
    expect((await asB).isValid()).toBe(true);
  });

  it.each([
    ['resigns', (leader: Leadership) => leader.resign()],
    ['hands over', (leader: Leadership) => leader.handover()],
  ])('when a leader %s that has an entry of an earlier campaign in the queue', async (_, giveUp) => {
    const world = new World();
    const store = world.connect();
    const a = world.member('a', {}, store);
    await stayAlive(world, a);
    const before = await world.elect(a);
    const entry = world.server.entries().find(({ key }) => key.startsWith(CANDIDATES));
    await world.run(before.resign());
    const leader = await world.elect(a);
    // The store applies the enqueue of the first campaign once more.
    const again = store.enqueue(CANDIDATES, entry?.name ?? '', entry?.value ?? bytes(''), entry?.lease ?? '', { timeoutMs: 500 });
    await world.run(again);
    const next = track(world.member('b').election(NAME).campaign());
    await world.pass(6_000);
    expect(world.queue()).toEqual(['a', 'b']);
    await world.run(giveUp(leader));
    await world.pass(50);
    expect(next.value?.term).toBe(3n);
  });
});

async function* firstOnly<T>(states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  let first = true;
  for await (const state of states) {
    if (first) yield state;
    first = false;
  }
}
