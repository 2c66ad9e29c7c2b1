import { describe, expect, it } from 'vitest';
import { addWatch } from '../../src/wire/watch-ops.ts';
import { getData } from '../../src/wire/nodes.ts';
import { CALL, Scene } from './scene.ts';

describe('probing', () => {
  it('abort at every moment of a read leaves no timers', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/k', { data: 'v' });
    const store = await scene.open();
    const idle = [scene.clock.timers, scene.clock.holds];
    const abort = new AbortController();
    scene.instead = ({ type }) => type === getData.type;
    const call = store.read('k', { ...CALL, signal: abort.signal }).catch((error: unknown) => error);
    await scene.clock.advance(10);
    abort.abort(new Error('mine'));
    expect(await call).toMatchObject({ message: 'mine' });
    await scene.clock.advance(2_100);
    console.log(idle, scene.clock.timers, scene.clock.holds);
    await scene.clock.run(store.close());
    expect([scene.clock.timers, scene.clock.holds]).toEqual([0, 0]);
  });
  it('a watch whose looks fail keeps no more and more', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/k', { data: 'v' });
    const store = await scene.open();
    const stop = new AbortController();
    let stale = 0;
    scene.instead = ({ type, xid }, peer) => {
      if (type !== getData.type) return false;
      peer.reply(xid, { code: -127 });
      return true;
    };
    const add = Array.prototype.push;
    let most = 0;
    Array.prototype.push = function (...items: unknown[]) {
      const length = add.apply(this, items);
      if (items.length === 2 && typeof items[0] === 'function') most = Math.max(most, length);
      return length;
    };
    const states = store.watch('k', { signal: stop.signal, onStale: () => void (stale += 1) })[Symbol.asyncIterator]();
    const next = states.next();
    await scene.clock.advance(60_000);
    Array.prototype.push = add;
    console.log('most', most, 'stale', stale);
    stop.abort();
    await next;
    await scene.clock.run(store.close());
    expect(most).toBeLessThan(20);
  });
});
