/** Findings of a review: what did not hold once. */

import { describe, expect, it, vi } from 'vitest';

import { StoreError, type Clock, type Moment } from '@incumbent/core';
import { stall } from '@incumbent/test-support';

import { multi, multiRead } from '../src/protocol/multi.ts';
import { closeSession, create, getChildren, getData } from '../src/protocol/nodes.ts';
import { readRevision } from '../src/namespace.ts';
import { Writer } from '../src/protocol/jute.ts';
import { addWatch } from '../src/protocol/watches.ts';
import { agree, gone, type Greet, silent } from './support/fake-server.ts';
import { CALL, NOAUTH, NODEEXISTS, NONODE, Scene, THROTTLEDOP } from './support/scene.ts';

function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}

async function settled<T>(call: Promise<T>): Promise<unknown> {
  return call.then(
    (value) => value,
    (error: unknown) => error,
  );
}

describe('reads that are made together', () => {
  it('do not fail for what another one of them may not read', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/mine', { data: 'm' });
    scene.nodes.set('/ns/theirs', { code: NOAUTH });
    const store = await scene.open();
    const both = Promise.all([settled(store.read('mine', CALL)), settled(store.read('theirs', CALL))]);
    const [mine, theirs] = await scene.clock.run(both);
    expect(theirs).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(mine).toMatchObject({ key: 'mine' });
    await scene.clock.run(store.close());
  });

  it('fail with a code where the server answers fewer of them', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/mine', { data: 'm' });
    const store = await scene.open();
    scene.instead = ({ type, xid }, peer) => {
      if (type !== multiRead.type) return false;
      peer.reply(xid, { body: new Writer().int(-1).bool(true).int(-1).finish() });
      return true;
    };
    const both = Promise.all([settled(store.read('mine', CALL)), settled(store.read('other', CALL))]);
    const failed = { code: 'STORE_FAILED', outcome: 'unknown' };
    expect(await scene.clock.run(both)).toMatchObject([failed, failed]);
    await scene.clock.run(store.close());
  });

  it('do not cost the connection what one of them may not read', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/mine', { data: 'm' });
    scene.nodes.set('/ns/theirs', { code: NOAUTH });
    const store = await scene.open();
    const before = scene.server.peers.length;
    await scene.clock.run(Promise.all([settled(store.read('mine', CALL)), settled(store.read('theirs', CALL))]));
    await scene.clock.advance(1_000);
    expect(scene.server.peers.length).toBe(before);
    await scene.clock.run(store.close());
  });
});

describe('a list', () => {
  it('is a state that there was: with one key gone and another come, never neither', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/group', { data: null });
    scene.nodes.set('/ns/group/a', { data: 'a' });
    const store = await scene.open();
    let looked = false;
    // First b comes, then a goes, between the two requests of a list. At every moment there was one of them.
    scene.before = ({ type }) => {
      if (type === getData.type && looked) {
        scene.nodes.set('/ns/group/b', { data: 'b' });
        scene.nodes.delete('/ns/group/a');
      }
      if (type === getChildren.type) looked = true;
    };
    const entries = await scene.clock.run(store.list('group', CALL));
    expect(entries.map(({ key }) => key)).not.toEqual([]);
    await scene.clock.run(store.close());
  });
});

describe('a list of several levels', () => {
  /** Lists what is under a prefix, whose only key is moved right before that request. */
  async function listWhileMoved(from: string, to: string, request: number): Promise<readonly string[]> {
    const scene = new Scene();
    for (const folder of ['tree', 'tree/one', 'tree/two']) scene.nodes.set(`/ns/${folder}`, { data: null });
    scene.nodes.set(`/ns/${from}`, { data: 'k' });
    const store = await scene.open();
    let reads = 0;
    scene.before = ({ type }) => {
      reads += type === getData.type || type === getChildren.type || type === multiRead.type ? 1 : 0;
      if (reads !== request || !scene.nodes.delete(`/ns/${from}`)) return;
      scene.nodes.set(`/ns/${to}`, { data: 'k' });
    };
    const entries = await scene.clock.run(store.list('tree', CALL));
    await scene.clock.run(store.close());
    return entries.map(({ key }) => key);
  }

  const moves = [
    ['tree/one/key', 'tree/two/key'],
    ['tree/one/key', 'tree/key'],
    ['tree/key', 'tree/one/key'],
  ] as const;
  const cases = moves.flatMap(([from, to]) => [1, 2, 3, 4, 5, 6].map((request) => [from, to, request] as const));

  it.each(cases)('is a state that there was, where %s becomes %s before request %i', async (from, to, request) => {
    expect([[from], [to]]).toContainEqual(await listWhileMoved(from, to, request));
  });
});

describe('a read without an answer', () => {
  it.each([
    ['a server that is silent', { code: 'TIMEOUT' }, () => {}],
    [
      'no server at all',
      { code: 'UNREACHABLE', outcome: 'notSent' },
      (scene: Scene) => {
        scene.server.greet = silent;
        for (const peer of scene.server.peers) peer.end();
      },
    ],
  ])('tells %s', async (_, expected, fault) => {
    const scene = new Scene();
    const store = await scene.open();
    scene.instead = () => true;
    fault(scene);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(await scene.clock.run(settled(store.read('a', CALL)))).toMatchObject(expected);
    expect(await scene.clock.run(settled(store.list('a', CALL)))).toMatchObject(expected);
    await scene.clock.run(store.close());
  });
});

describe('a list of which part is at hand already', () => {
  it('fails once, where its time is up between any two looks at the clock, and leaves nothing that fails unheard', async () => {
    const outcomes = new Set<unknown>();
    for (let look = 1; look <= 20; look += 1) {
      const scene = new Scene();
      scene.nodes.set('/ns/group', { data: null });
      scene.nodes.set('/ns/group/a', { data: 'a' });
      const store = await scene.open();
      let told = false;
      scene.before = ({ type }) => (told ||= type === getChildren.type);
      scene.instead = () => told;
      stall(scene.clock, look, CALL.timeoutMs);
      outcomes.add(await scene.clock.run(settled(store.list('group', CALL))));
      // What fails with nobody to handle it fails this run.
      await scene.clock.run(store.close());
    }
    expect([...outcomes].filter((outcome) => !(outcome instanceof StoreError))).toEqual([]);
    expect(outcomes.size).toBe(20);
  });
});

describe('a list, which takes two steps,', () => {
  /** The types of what it asks for, where the connection has just been lost. */
  async function afterLoss(greet: Greet): Promise<readonly number[]> {
    const scene = new Scene();
    scene.nodes.set('/ns/group', { data: null });
    scene.nodes.set('/ns/group/a', { data: 'a' });
    const store = await scene.open();
    const before = scene.server.peers.length;
    scene.server.greet = (hello, peer) => {
      scene.server.greet = agree;
      greet(hello, peer);
    };
    for (const peer of scene.server.peers) peer.end();
    await new Promise((resolve) => void setImmediate(resolve));
    const entries = await scene.clock.run(store.list('group', CALL));
    expect(entries.map(({ key }) => key)).toEqual(['group/a']);
    await scene.clock.run(store.close());
    return scene.server.peers.slice(before).flatMap(({ types }) => types.filter((type) => type !== closeSession.type));
  }
  const [sure, further] = [[multi.type, getChildren.type], [multiRead.type]];

  it('needs no barrier for the second on the same session, whatever connection it has', async () => {
    expect(await afterLoss(agree)).toEqual([...sure, ...further]);
  });

  it('begins again where there is another session, which might be told less', async () => {
    expect(await afterLoss(gone)).toEqual([...sure, ...further, ...sure, ...further]);
  });
});

describe('a long list', () => {
  it('is asked for in requests that servers take', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/many', { data: null });
    const names = Array.from({ length: 6_000 }, (_, i) => `${'x'.repeat(120)}-${i}`);
    for (const name of names) scene.nodes.set(`/ns/many/${name}`, { data: name });
    const lengths: number[] = [];
    scene.before = ({ type, body }) => {
      if (type === multiRead.type) lengths.push(body.left);
    };
    const store = await scene.open();
    const entries = await scene.clock.run(store.list('many', CALL));
    expect(entries.map(({ value }) => new TextDecoder().decode(value)).toSorted()).toEqual(names.toSorted());
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(1_000_000);
    await scene.clock.run(store.close());
  });
});

describe('opening', () => {
  it('rejects within the time it was given, where a server agrees to a session and says nothing more', async () => {
    const scene = new Scene();
    scene.server.answer = silent;
    const before = scene.clock.monotonic();
    await settled(scene.open({ connectTimeoutMs: 1_000 }));
    expect(scene.clock.monotonic() - before).toBeLessThanOrEqual(1_000);
  });
});

describe('an enqueue', () => {
  it('whose parent is removed again and again ends with its time', async () => {
    const scene = new Scene();
    const store = await scene.open();
    const { id } = await scene.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(scene.clock) }));
    scene.instead = ({ type, xid, body }, peer) => {
      if (type !== create.type || !body.string().includes('~z')) return false;
      scene.clock.schedule(0.5, () => peer.reply(xid, { code: NONODE }));
      return true;
    };
    const enqueued = store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 200 });
    await expect(scene.clock.run(enqueued, { withinMs: 1_000 })).rejects.toMatchObject({
      code: expect.stringMatching(/^(UNREACHABLE|TIMEOUT)$/),
    });
  });

  it('that gives up waiting for the one before it does not let a third pass', async () => {
    const scene = new Scene();
    const store = await scene.open();
    const { id } = await scene.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(scene.clock) }));
    let creates = 0;
    let missing = true;
    const held: (() => void)[] = [];
    scene.instead = ({ type, xid, body }, peer) => {
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
    await scene.clock.advance(10);
    const second = settled(store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 100 }));
    await scene.clock.advance(200);
    missing = false;
    const third = settled(store.enqueue('q', 'me', new Uint8Array(), id, { timeoutMs: 3_000 }));
    await scene.clock.advance(10);
    for (const go of held) go();
    await scene.clock.advance(10);
    expect(creates).toBe(1);
    await scene.clock.run(Promise.all([first, second, third]));
    await scene.clock.run(store.close());
  });
});

describe('a watch of one key', () => {
  it('shows nothing before it has looked', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/k', { data: 'new' });
    const store = await scene.open();
    const stop = new AbortController();
    // The server is behind: it tells of the end of a former node before it has answered.
    scene.instead = ({ type, xid }, peer) => {
      if (type !== addWatch.type) return false;
      peer.event(2, '/ns/k');
      peer.reply(xid);
      return true;
    };
    const states = store.watch('k', { signal: stop.signal })[Symbol.asyncIterator]();
    expect(await scene.clock.run(states.next())).toMatchObject({ value: { key: 'k' } });
    stop.abort();
    await scene.clock.run(store.close());
  });
});

describe('a revision', () => {
  it('that no node can have is not taken for that of every node', () => {
    const written = new Writer().int(readRevision('4294967295').version).finish();
    expect([...written]).not.toEqual([255, 255, 255, 255]);
  });
});

describe('a watch whose looks fail', () => {
  it('keeps no more and more of them', async () => {
    const scene = new Scene();
    scene.nodes.set('/ns/k', { data: 'v' });
    const store = await scene.open();
    const stop = new AbortController();
    scene.instead = ({ type, xid }, peer) => {
      if (type !== getData.type) return false;
      peer.reply(xid, { code: THROTTLEDOP });
      return true;
    };
    const next = store.watch('k', { signal: stop.signal })[Symbol.asyncIterator]().next();
    await scene.clock.advance(60_000);
    // What it will call when it ends: each would be called once for every look that failed.
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
    await scene.clock.run(store.close());
  });
});
