import { describe, expect, it, vi } from 'vitest';

import { getData } from '../src/protocol/nodes.ts';
import { addWatch } from '../src/protocol/watches.ts';
import { NOAUTH, settled, StoreWorld, THROTTLEDOP } from './support/store-world.ts';

/** A store whose key `k` has this value, and what ends the test's watch. */
async function openOnNode(data: string) {
  const world = new StoreWorld();
  world.nodes.set('/ns/k', { data });
  return { world, store: await world.open(), stop: new AbortController() };
}

describe('a watch of one key', () => {
  it('shows nothing before its first read', async () => {
    const { world, store, stop } = await openOnNode('new');
    // The server is behind: it tells of the end of a former node before it has answered.
    world.instead = ({ type, xid }, peer) => {
      if (type !== addWatch.type) return false;
      peer.event(2, '/ns/k');
      peer.reply(xid);
      return true;
    };
    const states = store.watch('k', { signal: stop.signal })[Symbol.asyncIterator]();
    expect(await world.clock.run(states.next())).toMatchObject({ value: { key: 'k' } });
    stop.abort();
    await world.clock.run(store.close());
  });
});

describe('a watch that the server refuses', () => {
  it('names the missing right', async () => {
    const { world, store } = await openOnNode('v');
    world.instead = ({ type, xid }, peer) => {
      if (type !== addWatch.type) return false;
      peer.reply(xid, { code: NOAUTH });
      return true;
    };
    const next = store.watch('k')[Symbol.asyncIterator]().next();
    expect(await world.clock.run(settled(next))).toMatchObject({
      code: 'PERMISSION_DENIED',
      outcome: 'refused',
      message: expect.stringContaining('missing: read on "/ns/k"'),
      details: { right: 'read', keys: ['/ns/k'], grant: expect.stringContaining('setAcl -R /ns') },
    });
    await world.clock.run(store.close());
  });
});

describe('a watch whose reads fail', () => {
  it('does not keep something for each of them', async () => {
    const { world, store, stop } = await openOnNode('v');
    world.instead = ({ type, xid }, peer) => {
      if (type !== getData.type) return false;
      peer.reply(xid, { code: THROTTLEDOP });
      return true;
    };
    const next = store.watch('k', { signal: stop.signal })[Symbol.asyncIterator]().next();
    await world.clock.advance(60_000);
    // Counts the cleanup functions at the end. There must not be one for each read that failed.
    let called = 0;
    const splice = vi.spyOn(Array.prototype, 'splice').mockImplementation(function (this: unknown[], ...given: [number, number?]) {
      const taken = given.length === 1 ? this.slice(given[0]) : this.slice(given[0], given[0] + (given[1] ?? 0));
      if (given.length === 1) this.length = given[0];
      else for (let index = given[0]; index + taken.length <= this.length; index += 1) this[index] = this[index + taken.length];
      if (given.length > 1) this.length -= taken.length;
      if (taken.every((one) => typeof one === 'function')) called = Math.max(called, taken.length);
      return taken;
    });
    stop.abort();
    splice.mockRestore();
    expect(called).toBeLessThan(20);
    await next;
    await world.clock.run(store.close());
  });
});
