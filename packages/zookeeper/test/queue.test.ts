/** `enqueue`, whose earlier calls may have an unknown outcome. */

import { describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/jute.ts';
import { create, getChildren, writeStat } from '../src/protocol/nodes.ts';
import { CALL, momentOf, NODEEXISTS, NONODE, settled, statOf, StoreWorld } from './support/store-world.ts';

describe('an enqueue', () => {
  it('whose parent is deleted again and again rejects when its time is over', async () => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(world.clock) }));
    world.instead = ({ type, xid, body }, peer) => {
      if (type !== create.type || !body.string().includes('~z')) return false;
      world.clock.schedule(0.5, () => peer.reply(xid, { code: NONODE }));
      return true;
    };
    const enqueued = store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 200 });
    await expect(world.clock.run(enqueued, { withinMs: 1_000 })).rejects.toMatchObject({
      code: expect.stringMatching(/^(UNREACHABLE|TIMEOUT)$/),
    });
  });

  it('looks for an entry of its name, unless the store has deleted that entry', async () => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(world.clock) }));
    let looks = 0;
    world.instead = ({ type, xid, body }, peer) => {
      if (type === getChildren.type) looks += 1;
      if (type !== create.type) return false;
      const name = body.string();
      peer.reply(
        xid,
        name.includes('~z') ? { body: writeStat(new Writer().string(`${name}0000000000`), statOf(0, BigInt(`0x${id}`))).finish() } : {},
      );
      return true;
    };
    const enqueue = () => world.clock.run(store.enqueue('q', 'me', new Uint8Array(), id, CALL));
    const { key, revision } = await enqueue();
    await enqueue();
    expect(looks).toBe(1);
    await world.clock.run(store.compareAndSwap([{ key, expect: revision, delete: true }], CALL));
    await enqueue();
    expect(looks).toBe(1);
    await world.clock.run(store.close());
  });

  it('that gives up waiting for an earlier one does not let a third one overtake', async () => {
    const world = new StoreWorld();
    const store = await world.open();
    const { id } = await world.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(world.clock) }));
    let creates = 0;
    let missing = true;
    const held: (() => void)[] = [];
    world.instead = ({ type, xid, body }, peer) => {
      if (type !== 15) return false;
      const path = body.string();
      if (!path.includes('~z')) {
        // The making of the parent takes its time.
        held.push(() => {
          missing = false;
          peer.reply(xid, { code: NODEEXISTS });
        });
        return true;
      }
      if (missing) peer.reply(xid, { code: NONODE });
      else creates += 1;
      return true;
    };
    const first = settled(store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 5_000 }));
    await world.clock.advance(10);
    const second = settled(store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 100 }));
    await world.clock.advance(200);
    missing = false;
    const third = settled(store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 3_000 }));
    await world.clock.advance(10);
    for (const go of held) go();
    await world.clock.advance(10);
    expect(creates).toBe(1);
    await world.clock.run(Promise.all([first, second, third]));
    await world.clock.run(store.close());
  });
});
