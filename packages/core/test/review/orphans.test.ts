/** How an election can be left without a leader for as long as some member lives: its record, or its entry, stays and nobody holds it. */

import { describe, expect, it } from 'vitest';
import { StoreError, type Change, type Member, type Store, type SwapResult } from '../../src/index.ts';
import { denied, instead, LEADER, NAME, QUEUE, quiet, Scene, TERM, timeout, TTL_MS } from './scene.ts';

const put = (change: Change | undefined, key: string): boolean => change !== undefined && change.key === key && 'put' in change;
const isClaim = (changes: readonly Change[]): boolean => put(changes[0], LEADER) && changes[0]?.expect === null;

/** Joins a group, so that the member keeps its session whatever becomes of its campaign. */
async function stayAlive(scene: Scene, member: Member): Promise<void> {
  await scene.run(member.group('g').join());
}

/** Whether a new candidate is elected within three ttls and some. */
async function goesOn(scene: Scene): Promise<boolean> {
  return scene.settles(quiet(scene.member('z').election(NAME).campaign()), 6 * TTL_MS);
}

/** The first enqueue ends as unknown, is tried again, and is applied once more when `apply` is called. */
function lateEnqueue(behind: Store): { readonly store: Store; apply(): Promise<unknown> } {
  let late: (() => Promise<unknown>) | undefined;
  const store = instead(behind, {
    enqueue: async (...call) => {
      if (late !== undefined) return behind.enqueue(...call);
      late = () => behind.enqueue(...call);
      throw timeout();
    },
  });
  return { store, apply: async () => late?.() };
}

describe('an election goes on', () => {
  it('after an enqueue that is applied once more when its term is over', async () => {
    const scene = new Scene();
    const { store, apply } = lateEnqueue(scene.connect());
    const a = scene.member('a', store);
    await stayAlive(scene, a);
    const first = await scene.elect(a);
    await scene.run(first.resign());
    await scene.run(apply());
    expect(scene.queue).toEqual(['a']);
    expect(await goesOn(scene)).toBe(true);
  });

  it('after a handover to an entry that nobody campaigns with any more', async () => {
    const scene = new Scene();
    const { store, apply } = lateEnqueue(scene.connect());
    const b = scene.member('b', store);
    await stayAlive(scene, b);
    const giveUp = new AbortController();
    const asB = quiet(b.election(NAME).campaign({ signal: giveUp.signal }));
    const leader = await scene.elect(scene.member('a'));
    await scene.until(() => scene.queue.includes('b'));
    giveUp.abort();
    await scene.settles(asB, 100);
    expect(scene.queue).toEqual(['a']);
    await scene.run(apply());
    await scene.run(leader.handover().catch(() => {}));
    await scene.pass(40 * TTL_MS);
    expect(scene.queue).toEqual([]);
    expect(await goesOn(scene)).toBe(true);
  });

  it('when a candidate that looks for its entry withdraws, and finds that it was elected by a handover', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let replies = 1;
    const holds: Promise<void>[] = [];
    const store = instead(link, {
      enqueue: async (...call) => {
        await holds[0];
        const entry = await link.enqueue(...call);
        if (replies-- > 0) throw timeout();
        return entry;
      },
    });
    const b = scene.member('b', store);
    await stayAlive(scene, b);
    const leader = await scene.elect(scene.member('a'));
    const giveUp = new AbortController();
    const gate = Promise.withResolvers<void>();
    const asB = quiet(b.election(NAME).campaign({ signal: giveUp.signal }));
    await scene.until(() => scene.queue.includes('b'));
    holds.push(gate.promise);
    giveUp.abort();
    await scene.settles(asB, 10);
    await scene.run(leader.handover('b'));
    expect(scene.json(LEADER)).toMatchObject({ memberId: 'b' });
    gate.resolve();
    await scene.pass(TTL_MS);
    expect(scene.queue).toEqual([]);
    expect(await goesOn(scene)).toBe(true);
  });

  it('when a claim of a successor is applied late, after another one that certainly failed and a withdrawal', async () => {
    const scene = new Scene({ assignableLease: false });
    const link = scene.connect();
    let claims = 0;
    let late: (() => Promise<unknown>) | undefined;
    const store = instead(link, {
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
    const b = scene.member('b', store);
    await stayAlive(scene, b);
    const leader = await scene.elect(scene.member('a'));
    const giveUp = new AbortController();
    const asB = quiet(b.election(NAME).campaign({ signal: giveUp.signal }));
    await scene.until(() => scene.queue.includes('b'));
    await scene.run(leader.handover('b'));
    await scene.until(() => claims === 2);
    await scene.run(Promise.resolve(late?.()));
    expect(scene.json(LEADER)).toMatchObject({ memberId: 'b' });
    giveUp.abort();
    await scene.settles(asB, 10);
    await scene.pass(TTL_MS);
    expect(await goesOn(scene)).toBe(true);
  });

  it('when a candidate gives up while it joins once more, and was elected by a handover meanwhile', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    const store = instead(link, {
      enqueue: async (...call) => {
        calls += 1;
        if (calls === 2) await gate.promise;
        const entry = await link.enqueue(...call);
        if (calls === 1) throw timeout();
        return entry;
      },
    });
    const b = scene.member('b', store);
    await stayAlive(scene, b);
    const leader = await scene.elect(scene.member('a'));
    const giveUp = new AbortController();
    const asB = quiet(b.election(NAME).campaign({ signal: giveUp.signal }));
    await scene.until(() => calls === 2);
    await scene.run(leader.handover('b'));
    expect(scene.json(LEADER)).toMatchObject({ memberId: 'b' });
    giveUp.abort();
    await scene.settles(asB, 10);
    gate.resolve();
    await scene.pass(TTL_MS);
    expect(scene.queue).toEqual([]);
    expect(await goesOn(scene)).toBe(true);
  });

  it('after a withdrawal that was refused for a while, and a handover to the entry that it left', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let refusing = false;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (refusing) throw denied();
        return link.compareAndSwap(changes, options);
      },
    });
    const b = scene.member('b', store);
    await stayAlive(scene, b);
    const leader = await scene.elect(scene.member('a'));
    const giveUp = new AbortController();
    const asB = quiet(b.election(NAME).campaign({ signal: giveUp.signal }));
    await scene.until(() => scene.queue.includes('b'));
    await scene.pass(20);
    refusing = true;
    giveUp.abort();
    await scene.settles(asB, 50);
    refusing = false;
    await scene.run(leader.handover().catch(() => {}));
    await scene.pass(40 * TTL_MS);
    expect(await goesOn(scene)).toBe(true);
  });

  it('when a claim was applied, its answer lost, and the read-back refused', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let refusing = false;
    const store = instead(link, {
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
    const a = scene.member('a', store);
    await stayAlive(scene, a).catch(() => {});
    await expect(scene.elect(a)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    refusing = false;
    expect(await goesOn(scene)).toBe(true);
  });

  it("when the successor's record is too large for the store", async () => {
    const scene = new Scene({ maxValueBytes: 1_000 });
    const a = scene.member('a');
    await stayAlive(scene, a);
    const leader = await scene.elect(a);
    // A version that does not check its value before it joins: it knows of no limit.
    const link = scene.connect();
    const b = scene.member('b', instead(link, { capabilities: { ...link.capabilities, maxValueBytes: 2 ** 20 } }));
    void quiet(b.election(NAME, { value: 'x'.repeat(950) }).campaign());
    await scene.until(() => scene.queue.includes('b'));
    await expect(scene.run(leader.handover('b'))).rejects.toMatchObject({ code: 'HANDOVER_FAILED' });
    await scene.pass(3 * TTL_MS);
    expect(scene.json(LEADER), 'the record of a leadership that has ended').toBeUndefined();
  });

  it("when the successor's entry cannot be read", async () => {
    const scene = new Scene();
    const a = scene.member('a');
    await stayAlive(scene, a);
    const leader = await scene.elect(a);
    const other = scene.connect();
    const at = { monotonicMs: scene.clock.monotonic(), wallMs: scene.clock.wall() };
    const lease = await scene.run(other.grantLease(60 * TTL_MS, { at, timeoutMs: 100 }));
    const newer = new TextEncoder().encode('{"v":2}');
    await scene.run(other.enqueue(QUEUE, 'n~0~1~fifo~', newer, lease.id, { timeoutMs: 100 }));
    await expect(scene.run(leader.handover())).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(leader.isValid()).toBe(true);
    await scene.run(leader.resign());
    expect(scene.json(LEADER), 'the record of a leadership that has ended').toBeUndefined();
  });

  it("after somebody has put what cannot be read in the place of the leader's record, and taken it away again", async () => {
    const scene = new Scene();
    const a = scene.member('a');
    await stayAlive(scene, a);
    const leader = await scene.elect(a);
    scene.server.put(LEADER, new TextEncoder().encode('hello'));
    await scene.run(leader.released);
    scene.server.deleteKey(LEADER);
    await scene.pass(10);
    expect(await goesOn(scene)).toBe(true);
  });

  it('when a release is refused for a while, by a store that has its permissions changed', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let refusing = false;
    const store = instead(link, {
      compareAndSwap: async (changes, options): Promise<SwapResult> => {
        if (refusing) throw denied();
        return link.compareAndSwap(changes, options);
      },
    });
    const a = scene.member('a', store);
    await stayAlive(scene, a);
    const leader = await scene.elect(a);
    refusing = true;
    await scene.run(leader.resign());
    refusing = false;
    expect(await goesOn(scene)).toBe(true);
  });

  it('when the successor is told by nothing but the record: the change of its entry never arrives', async () => {
    const scene = new Scene();
    const link = scene.connect();
    // A watch on its own entry that lags for ever after its first state; the one on the entry ahead works.
    const store = instead(link, {
      watch: (key, options) => (key.startsWith(`${QUEUE}/b~`) ? firstOnly(link.watch(key, options)) : link.watch(key, options)),
    });
    const leader = await scene.elect(scene.member('a'));
    void quiet(scene.member('x').election(NAME).campaign());
    await scene.until(() => scene.queue.includes('x'));
    const asB = quiet(scene.member('b', store).election(NAME).campaign());
    await scene.until(() => scene.queue.includes('b'));
    await scene.run(leader.handover('b'));
    expect(await scene.settles(asB, 200 * TTL_MS)).toBe(true);
  });

  it('when an operator deletes the entry of a successor right after the handover', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const b = scene.member('b', link);
    await stayAlive(scene, b);
    const leader = await scene.elect(scene.member('a'));
    const x = new AbortController();
    void quiet(scene.member('x').election(NAME).campaign({ signal: x.signal }));
    await scene.until(() => scene.queue.includes('x'));
    const asB = quiet(b.election(NAME).campaign());
    await scene.until(() => scene.queue.includes('b'));
    await scene.pass(20);
    // The watch may skip states: it shows the entry as it was, then no entry.
    link.link.cutOff();
    await scene.run(leader.handover('b'));
    scene.server.deleteKey(String(scene.json(TERM)?.['entry']));
    x.abort();
    link.link.heal();
    await scene.pass(TTL_MS);
    // Elected or not: without its entry it must not go on to lead.
    if (await scene.settles(asB, 0)) {
      expect((await asB).isValid()).toBe(true);
      expect(scene.entry(String(scene.json(TERM)?.['entry'])), 'b leads without its entry').toBeDefined();
      await scene.run((await asB).resign());
    }
    expect(await goesOn(scene)).toBe(true);
  });
});

async function* firstOnly<T>(states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  let first = true;
  for await (const state of states) {
    if (first) yield state;
    first = false;
  }
}
