/** Watches, against a fake server. */

import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Entry, Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { connectSocket } from '@incumbent/network';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { frame } from '../src/protocol/frame.ts';
import { fails, startFakeServer } from './fake-server.ts';
import { creates, openOn, reads, REVISION, SOON, watchAnswer, Watching, WatchScene } from './fake-watches.ts';

describe('a watch', () => {
  let scene: WatchScene;

  beforeEach(async () => {
    scene = await WatchScene.open();
  });
  afterEach(async () => scene.close());

  it('is created again if the server confirms and cancels it in one message', async () => {
    scene.onCreate = [(watching) => watching.says({ id: 5n, created: true }, { id: 5n, canceled: 'no more' }), creates];
    scene.begin();
    await expect.poll(() => scene.streams.flatMap(({ asked }) => asked), SOON).toEqual(['create', 'create']);
    await expect.poll(scene.values, SOON).toContain('read');
    expect(scene.watch.stale).toHaveLength(1);
  });

  it('is cancelled at the server if its consumer stops at the first event', async () => {
    scene.onCreate = [
      (watching) => watching.says({ id: 4n, created: true }),
      (watching) => watching.says({ id: 5n, created: true }, { id: 5n, puts: 'put' }),
    ];
    scene.begin();
    await scene.shows('read');
    const stop = new AbortController();
    for await (const entry of scene.store.watch('a', { signal: stop.signal })) {
      expect(new TextDecoder().decode(entry?.value)).toBe('put');
      stop.abort();
    }
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 5']);
  });

  it.each<[string, (watching: Watching) => void]>([
    ['the end of the watch', (watching) => watching.says({ id: 5n, puts: 'put' }, { id: 5n, canceled: 'no more' })],
    [
      'bytes that are no message',
      (watching) => watching.stream.write(Buffer.concat([watchAnswer({ id: 5n, puts: 'put' }), frame(Uint8Array.of(0x0b))])),
    ],
  ])('shows no state after onStale, if %s came together with a change', async (_, say) => {
    scene.begin();
    await scene.shows('read');
    // From now on no new watch is answered: the outage lasts.
    scene.onCreate = [() => {}];
    for (const watching of scene.streams) say(watching);
    // When the server gets the next request, the watch has received everything sent before.
    await expect.poll(() => scene.streams.flatMap(({ asked }) => asked), SOON).toEqual(['create', 'create']);
    expect([scene.values(), scene.watch.stale.length]).toEqual([['read'], 1]);
  });

  it('shows the state that a read returned, then each change', async () => {
    scene.begin();
    await scene.shows('read');
    scene.streams[0]?.says({ id: 5n, puts: 'put' });
    await scene.shows('read', 'put');
    expect(scene.watch.stale).toEqual([]);
  });

  describe('of a key whose revision is known', () => {
    const since = '6';

    const isAsked = (): Promise<void> => expect.poll(() => scene.streams[0]?.from, SOON).toEqual([7n]);

    it('shows each change since then, and reads nothing', async () => {
      scene.onRead = fails(13, 'nothing is to be read');
      scene.begin(since);
      await isAsked();
      expect(scene.values()).toEqual([]);
      scene.streams[0]?.says({ id: 5n, puts: 'put' });
      await scene.shows('put');
      expect([scene.readsAsked, scene.watch.stale]).toEqual([0, []]);
    });

    it('reads the key if the server refuses the revision, which was compacted away', async () => {
      scene.onCreate = [(watching) => watching.says({ id: 5n, created: true, canceled: '', compacted: 9n }), creates];
      scene.begin(since);
      await scene.shows('read');
      expect(scene.streams.flatMap(({ from }) => from)).toEqual([7n, REVISION + 1n]);
    });

    it('reads the key if the server finds only later that the revision was compacted away', async () => {
      scene.begin(since);
      await isAsked();
      scene.streams[0]?.says({ id: 5n, canceled: '', compacted: 9n });
      await scene.shows('read');
      expect(scene.streams.flatMap(({ from }) => from)).toEqual([7n, REVISION + 1n]);
    });

    it('reads the key if the revision is none of etcd', async () => {
      scene.begin('1@x');
      await scene.shows('read');
      expect(scene.streams[0]?.from).toEqual([REVISION + 1n]);
    });
  });

  it('ignores the events of other watches', async () => {
    scene.begin();
    await scene.shows('read');
    scene.streams[0]?.says({ id: 99n, puts: 'of another' });
    scene.streams[0]?.says({ id: 98n, canceled: 'another' });
    scene.streams[0]?.says({ id: 5n, puts: 'mine' });
    await scene.shows('read', 'mine');
  });

  it.each<[string, (watching: Watching) => void]>([
    ['compacted away', (watching) => watching.says({ id: 5n, canceled: '', compacted: 10n })],
    ['ended by the server for a reason of its own', (watching) => watching.says({ id: 5n, canceled: 'etcdserver: watcher is slow' })],
    ['ended with its stream', (watching) => watching.ends(0, '')],
    ['ended with its stream for want of a leader', (watching) => watching.ends(14, 'etcdserver: no leader')],
    ['ended by a reset of its stream', (watching) => watching.stream.close(2)],
    ['sent bytes that are no message', (watching) => watching.stream.write(frame(new Uint8Array([0x0b])))],
    ['on a server that closes its connections', (watching) => watching.stream.session?.goaway(0)],
  ])('%s, it is stale once, is read again and goes on', async (_, end) => {
    scene.begin();
    await scene.shows('read');
    scene.onRead = reads('read again');
    end(scene.streams[0] ?? expect.unreachable('no stream'));
    await scene.shows('read', 'read again');
    expect(scene.watch.stale.length).toBe(1);
    expect(scene.watch.stale[0]).toMatchObject({ name: 'StoreError' });
    scene.streams.at(-1)?.says({ id: 5n, puts: 'put' });
    await scene.shows('read', 'read again', 'put');
  });

  it('once it is stale, does not show a change that came before and was not yet consumed', async () => {
    let stale = 0;
    const states = scene.store.watch('a', { signal: new AbortController().signal, onStale: () => void (stale += 1) });
    const iterator = states[Symbol.asyncIterator]();
    await iterator.next();
    scene.streams[0]?.says({ id: 5n, puts: 'not asked for' });
    scene.onCreate = [() => {}];
    // In the same breath: the change is there when the stream goes.
    scene.streams[0]?.ends(0, '');
    await expect.poll(() => stale, SOON).toBe(1);
    scene.onRead = reads('read again');
    scene.onCreate = [creates];
    const next = await iterator.next();
    expect(new TextDecoder().decode(next.done === true ? undefined : next.value?.value)).toBe('read again');
    await iterator.return?.();
  });

  it('is cancelled after the other requests of the same turn, which do not wait for it', async () => {
    scene.onCreate = [creates, (watching) => watching.says({ id: 6n, created: true })];
    scene.begin();
    await scene.shows('read');
    const other = new Recorder<Entry | undefined>((options) => scene.store.watch('b', options));
    await expect.poll(() => other.states.length, SOON).toBe(1);
    const before: (readonly string[])[] = [];
    scene.onRead = (stream, headers) => {
      // Whatever came before it has been read by then.
      setImmediate(() => {
        before.push([...(scene.streams[0]?.asked ?? [])]);
        reads('read')(stream, headers);
      });
    };
    void scene.watch.stop();
    await scene.store.read('c', { timeoutMs: 5_000 });
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 5']);
    expect(before).toEqual([['create', 'create']]);
    await other.stop();
  });

  it('closes its stream when the server announces that it closes its connections', async () => {
    scene.begin();
    await scene.shows('read');
    scene.streams[0]?.stream.session?.goaway(0);
    await expect.poll(() => scene.streams[0]?.stream.closed, SOON).toBe(true);
    await scene.shows('read', 'read');
  });

  it('moves to another member when its member has lost the leader', async () => {
    const other = await startFakeServer((stream, headers) => {
      if (headers[':path'] !== '/etcdserverpb.Watch/Watch') return scene.answer(stream, headers);
      scene.streams.push(new Watching(stream, creates));
    });
    const both = await openOn(scene.server, other);
    const moved = new Recorder<Entry | undefined>((options) => both.watch('a', options));
    await expect.poll(() => moved.states.length, SOON).toBe(1);
    scene.streams[0]?.ends(14, 'etcdserver: no leader');
    await expect.poll(() => moved.states.length, SOON).toBe(2);
    expect(scene.streams[1]?.stream.session).toBe(other.sessions.at(-1));
    await both.close();
    await other[Symbol.asyncDispose]();
  });

  it('calls onStale once, however often its creation fails', async () => {
    const unable = (watching: Watching): void => watching.ends(14, 'etcdserver: no leader');
    scene.onCreate = [unable, unable, unable, creates];
    scene.begin();
    await scene.shows('read');
    expect(scene.watch.stale.map(({ code }) => code)).toEqual(['UNAVAILABLE']);
    expect(scene.streams.length).toBe(4);
  });

  it('ends when its key may not be read, and is never created at the server', async () => {
    scene.onRead = fails(7, 'etcdserver: permission denied');
    scene.begin();
    expect(await scene.watch.ended).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    expect(scene.streams).toEqual([]);
  });

  it('is created on another stream if the server never confirms it', async () => {
    scene.onCreate = [() => {}, creates];
    scene.begin();
    await expect.poll(scene.values, { timeout: 8_000 }).toEqual(['read']);
    expect([scene.watch.stale.map(({ code }) => code), scene.streams.length]).toEqual([['TIMEOUT'], 2]);
  }, 10_000);

  it('that ends before the server confirms it is cancelled then; another watch on the stream goes on', async () => {
    scene.onCreate = [() => {}];
    scene.begin();
    const other = new Recorder<Entry | undefined>((options) => scene.store.watch('a', options));
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create', 'create']);
    await scene.watch.stop();
    // In the order in which they were asked for, as etcd does.
    scene.streams[0]?.says({ id: 4n, created: true });
    scene.streams[0]?.says({ id: 5n, created: true });
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 4']);
    await expect.poll(() => other.states.length, SOON).toBe(1);
  });

  it('that was the last on its stream closes the stream', async () => {
    scene.begin();
    await scene.shows('read');
    await scene.watch.stop();
    await expect.poll(() => scene.streams[0]?.stream.closed, SOON).toBe(true);
    expect(scene.streams[0]?.asked).toEqual(['create']);
    scene.begin();
    await scene.shows('read');
    expect(scene.streams.length).toBe(2);
  });

  describe('that is stopped while its connection opens', () => {
    /** A store that has lost its connection. Its next dial waits until `release` is called. */
    async function openDisconnected(): Promise<{ readonly store: Store; dialed(): boolean; release(): void }> {
      const gate = Promise.withResolvers<void>();
      let dials = 0;
      const store = await openEtcd({
        endpoints: [`127.0.0.1:${scene.server.port}`],
        connect: async (endpoint, signal) => {
          dials += 1;
          if (dials === 2) await gate.promise;
          return connectSocket(endpoint, {}, signal);
        },
      });
      const lost = scene.server.sessions.at(-1) ?? expect.unreachable('no session');
      const closed = once(lost, 'close');
      lost.destroy();
      await closed;
      return { store, dialed: () => dials === 2, release: () => gate.resolve() };
    }

    const isStream = (path: string): boolean => path === '/etcdserverpb.Watch/Watch';

    it('leaves no stream open', async () => {
      const { store, dialed, release } = await openDisconnected();
      const watch = new Recorder<Entry | undefined>((options) => store.watch('a', { ...options, since: '6' }));
      await expect.poll(dialed, SOON).toBe(true);
      await watch.stop();
      release();
      await store.read('b', { timeoutMs: 5_000 });
      await expect.poll(() => scene.streams.every(({ stream }) => stream.closed), SOON).toBe(true);
      expect(scene.streams.flatMap(({ asked }) => asked)).toEqual([]);
      await store.close();
    });

    it('leaves the stream to the watches that wait for it as well', async () => {
      const { store, dialed, release } = await openDisconnected();
      const [first, second] = ['6', '5'].map(
        (since) => new Recorder<Entry | undefined>((options) => store.watch('a', { ...options, since })),
      );
      await expect.poll(dialed, SOON).toBe(true);
      await first?.stop();
      release();
      await expect.poll(() => scene.streams.flatMap(({ from }) => from), SOON).toEqual([6n]);
      scene.streams[0]?.says({ id: 5n, puts: 'put' });
      await expect.poll(() => second?.states.length, SOON).toBe(1);
      expect([second?.stale, scene.server.requests.filter(isStream).length]).toEqual([[], 1]);
      await store.close();
    });
  });

  it('that has ended can be garbage collected', async () => {
    setFlagsFromString('--expose-gc');
    const collector: unknown = runInNewContext('gc');
    if (typeof collector !== 'function') throw new Error('no garbage collector');
    async function watchOnce(): Promise<WeakRef<object>> {
      const held = { onStale: (): void => {} };
      const abort = new AbortController();
      const iterator = scene.store.watch('a', { signal: abort.signal, onStale: held.onStale })[Symbol.asyncIterator]();
      await iterator.next();
      abort.abort();
      await iterator.next();
      return new WeakRef(held.onStale);
    }
    const ended = await watchOnce();
    const forgotten = (): boolean => {
      Reflect.apply(collector, undefined, []);
      return ended.deref() === undefined;
    };
    await expect.poll(forgotten, SOON).toBe(true);
  });

  it('ends with the error that its onStale throws', async () => {
    const states = scene.store.watch('a', {
      signal: new AbortController().signal,
      onStale: () => {
        throw new Error('the listener’s own');
      },
    });
    const iterator = states[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    scene.streams[0]?.stream.close(2);
    await expect(next).rejects.toThrow('the listener’s own');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});
