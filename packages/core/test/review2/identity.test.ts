/** How a member keeps its key `members/<id>`, and when it gives it up. */

import { describe, expect, it } from 'vitest';
import type { Change, Entry, Store } from '../../src/index.ts';
import { instead, NAME, quiet, Scene, timeout, TTL_MS } from '../review/scene.ts';

const KEY = 'members/a';
const restores = (changes: readonly Change[]): boolean => changes.length === 1 && changes[0]?.key === KEY;

describe("a member's key", () => {
  it('that an operator deletes is put there again, though the first tries fail', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let failures = 0;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (failures === 0 || !restores(changes)) return link.compareAndSwap(changes, options);
        failures -= 1;
        throw timeout();
      },
    });
    const leadership = await scene.elect(scene.member('a', store));
    failures = 3;
    scene.server.deleteKey(KEY);
    await scene.pass(2 * TTL_MS);
    expect(scene.entry(KEY)).toBeDefined();
    expect(leadership.isValid()).toBe(true);
    await scene.close();
  });

  it('says for how long the lease was granted, restored or not', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const store = instead(link, { grantLease: async (_, options) => link.grantLease(2 * TTL_MS, options) });
    await scene.elect(scene.member('a', store));
    const before = scene.json(KEY);
    scene.server.deleteKey(KEY);
    await scene.pass(100);
    expect(scene.json(KEY)).toEqual(before);
    await scene.close();
  });

  it("is not taken for lost when the watch shows the former holder's", async () => {
    const scene = new Scene();
    const link = scene.connect();
    const leadership = await scene.elect(scene.member('a', late(link)), {});
    await scene.pass(TTL_MS);
    expect(leadership.isValid()).toBe(true);
    await scene.close();
  });

  it('that another process takes ends the session, though the store fails for a moment', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const former = scene.member('a', link);
    const leadership = await scene.elect(former);
    const other = quiet(scene.member('a', scene.connect(), { onDuplicate: 'replace' }).election(NAME).campaign());
    link.link.dropReplies(2, { verbs: ['compareAndSwap'], how: 'reset' });
    await scene.pass(TTL_MS);
    expect((await leadership.ended).reason).toBe('replaced');
    expect((await other).isValid()).toBe(true);
    await expect(scene.run(former.election(NAME).campaign())).rejects.toMatchObject({ code: 'DUPLICATE_MEMBER' });
    await scene.close();
  });
});

/** A store whose watch on the key begins with what stood there before. */
function late(behind: Store): Store {
  const former: Entry = {
    key: KEY,
    name: 'a',
    value: new TextEncoder().encode('{"v":1,"incarnation":"former","ttlMs":2000}'),
    revision: '1',
    order: 1n,
  };
  return instead(behind, {
    watch: (key, options) => (key === KEY ? after(former, behind.watch(key, options)) : behind.watch(key, options)),
  });
}

async function* after<T>(first: T, states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield first;
  yield* states;
}
