/** What a leadership does with answers that are not about itself, that are lost, or that it did not ask for. */

import { describe, expect, it } from 'vitest';
import type { Change } from '../../src/index.ts';
import { instead, LEADER, NAME, quiet, Scene, TERM, timeout, TTL_MS } from './scene.ts';

const isHandover = (changes: readonly Change[]): boolean =>
  changes.length === 4 && changes[0]?.key === LEADER && 'put' in changes[0] && changes[0].expect !== null;

describe('a leadership', () => {
  it("does not end because another's lease has expired: a fenced write that binds to it", async () => {
    const scene = new Scene();
    const leader = await scene.elect(scene.member('a'));
    const put = new TextEncoder().encode('x');
    await expect(scene.run(leader.swap([{ key: 'work/1', expect: null, put, lease: 'lease-999' }]))).rejects.toMatchObject({
      code: 'LEASE_EXPIRED',
    });
    expect(leader.isValid()).toBe(true);
  });

  it("does not take its member's other leaderships with it, because its successor's lease has expired", async () => {
    const scene = new Scene();
    const link = scene.connect();
    // The contract lets a store look at leases before expectations.
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (!isHandover(changes)) return link.compareAndSwap(changes, options);
        const probe = { key: 'probe', expect: null, put: new Uint8Array(), lease: 'lease-999' };
        return link.compareAndSwap([probe], options);
      },
    });
    const a = scene.member('a', store);
    const leader = await scene.elect(a);
    const other = await scene.run(a.election('other').campaign());
    void quiet(scene.member('b').election(NAME).campaign());
    await scene.until(() => scene.queue.includes('b'));
    await expect(scene.run(leader.handover('b'))).rejects.toMatchObject({ code: 'HANDOVER_FAILED' });
    expect(other.isValid()).toBe(true);
  });

  it('that came of a handover can be handed over', async () => {
    const scene = new Scene();
    const first = await scene.elect(scene.member('a'));
    const asB = scene.member('b').election(NAME).campaign();
    await scene.until(() => scene.queue.includes('b'));
    await scene.run(first.handover('b'));
    const second = await scene.run(asB);
    const asC = scene.member('c').election(NAME).campaign();
    await scene.until(() => scene.queue.includes('c'));
    await scene.run(second.handover('c'));
    expect((await scene.run(asC)).term).toBe(3n);
  });

  it('that came of a handover, whose successor noticed by looking, can be handed over', async () => {
    const scene = new Scene();
    const link = scene.connect();
    // The change of the entry comes 20 ms after the news that the entry ahead is gone: watches are independent of one another.
    const store = instead(link, {
      watch: (key, options) => (key.includes('/b~') ? later(link.watch(key, options)) : link.watch(key, options)),
    });
    async function* later<T>(states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
      for await (const state of states) {
        await new Promise<void>((resolve) => scene.clock.schedule(20, resolve));
        yield state;
      }
    }
    const first = await scene.elect(scene.member('a'));
    const asB = scene.member('b', store).election(NAME).campaign();
    await scene.until(() => scene.queue.includes('b'));
    await scene.pass(50);
    await scene.run(first.handover('b'));
    const second = await scene.run(asB);
    const asC = quiet(scene.member('c').election(NAME).campaign());
    await scene.until(() => scene.queue.includes('c'));
    await scene.run(second.handover('c'));
    expect((await scene.run(asC)).term).toBe(3n);
  });

  it('does not call a handover failed that was applied late', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let late: (() => Promise<unknown>) | undefined;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (!isHandover(changes)) return link.compareAndSwap(changes, options);
        if (late === undefined) {
          late = () => link.compareAndSwap(changes, options);
          throw timeout();
        }
        await late();
        return link.compareAndSwap(changes, options);
      },
    });
    const leader = await scene.elect(scene.member('a', store));
    const asB = quiet(scene.member('b').election(NAME).campaign());
    await scene.until(() => scene.queue.includes('b'));
    const outcome = leader.handover('b').then(
      () => 'handed over',
      (error: unknown) => error,
    );
    expect((await scene.run(asB)).term).toBe(2n);
    expect(await scene.run(outcome)).toBe('handed over');
  });

  it('can be handed over right after a publish whose answer was lost', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const leader = await scene.elect(scene.member('a', link));
    void quiet(scene.member('b').election(NAME).campaign());
    await scene.until(() => scene.queue.includes('b'));
    link.link.dropReplies(1, { verbs: ['compareAndSwap'] });
    const published = quiet(leader.publish({ url: 'x' }));
    await scene.pass(10);
    await scene.run(leader.handover('b'));
    await scene.settles(published, TTL_MS);
  });

  it('of a successor has a term that is not below its minTerm', async () => {
    const scene = new Scene();
    const first = await scene.elect(scene.member('a'));
    const asB = scene.member('b').election(NAME, { minTerm: 100n }).campaign();
    await scene.until(() => scene.queue.includes('b'));
    await scene.run(first.handover('b').catch(() => {}));
    expect((await scene.run(asB)).term).toBeGreaterThanOrEqual(100n);
  });

  it('does not make an election unreadable by a term that a fence reports', async () => {
    const scene = new Scene();
    const a = scene.member('a');
    const leader = await scene.elect(a);
    try {
      leader.reportTerm(10n ** 31n);
    } catch {
      // Refusing it would be right.
    }
    if (!leader.isValid()) {
      await scene.run(leader.released);
      await scene.settles(quiet(a.election(NAME).campaign()), TTL_MS);
    }
    await scene.run(a.close());
    await expect(scene.elect(scene.member('b'))).resolves.toMatchObject({ memberId: 'b' });
  });

  it('is not made of a broken one when somebody reads the clocks at the moment of the election', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const quietly = (): void => {};
    const info = (fields: object, text: string): void => {
      if (text !== 'elected' || !('term' in fields) || fields.term !== 1n) return;
      scene.clock.advanceWall(10 * TTL_MS);
      void a.state;
    };
    const a = scene.member('a', link, { logger: { debug: quietly, info, warn: quietly, error: quietly } });
    await expect(scene.elect(a)).resolves.toMatchObject({ memberId: 'a' });
  });

  it('notices that its record and entry were deleted, although a watch of its could once not go on', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let broken = true;
    async function* failing(): AsyncGenerator<never, void, undefined> {
      throw timeout();
    }
    const store = instead(link, {
      watch: (key, options) => (broken && (key === LEADER || key.includes('/a~')) ? failing() : link.watch(key, options)),
    });
    const leader = await scene.elect(scene.member('a', store));
    await scene.pass(TTL_MS);
    broken = false;
    await scene.pass(TTL_MS);
    const asB = scene.member('b').election(NAME).campaign();
    await scene.until(() => scene.queue.includes('b'));
    const entry = String(scene.json(TERM)?.['entry']);
    scene.server.deleteKey(entry);
    scene.server.deleteKey(LEADER);
    await scene.run(asB);
    await scene.pass(10 * TTL_MS);
    expect(leader.isValid()).toBe(false);
  });
});
