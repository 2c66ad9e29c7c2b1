/** Watches, against a server that does as it is told. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Entry, Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { frame } from '../src/grpc/frame.ts';
import { fails, ok, startFakeServer, type Answer, type FakeServer } from './fake-server.ts';
import { reads, REVISION, VERSION, watchAnswer, Watching } from './fake-watches.ts';
import { Recorder } from './recorder.ts';

/** Long, for a busy machine. */
const SOON = { timeout: 5_000 };

const RANGE = '/etcdserverpb.KV/Range';

const creates = (watching: Watching): void => watching.says({ id: 5n, created: true });

describe('a watch', () => {
  let server: FakeServer;
  let store: Store;
  let streams: Watching[];
  /** What the server does when the nth watch is asked for; the last one for all that follow. */
  let onCreate: ((watching: Watching) => void)[];
  let onRead: Answer;
  let watch: Recorder<Entry | undefined>;

  beforeEach(async () => {
    streams = [];
    onCreate = [creates];
    onRead = reads('read');
    server = await startFakeServer((stream, headers) => answer(stream, headers));
    store = await openEtcd({ endpoints: [`127.0.0.1:${server.port}`] });
  });
  afterEach(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  const answer: Answer = (stream, headers) => {
    const path = headers[':path'];
    if (path === '/etcdserverpb.Maintenance/Status') ok(VERSION)(stream, headers);
    else if (path === RANGE) onRead(stream, headers);
    else streams.push(new Watching(stream, (watching) => (onCreate.length > 1 ? onCreate.shift() : onCreate[0])?.(watching)));
  };

  function begin(): void {
    watch = new Recorder((options) => store.watch('a', options));
  }

  /** A store that has begun with the first of two, which is chosen by chance. */
  async function openOn(first: FakeServer, second: FakeServer): Promise<Store> {
    for (;;) {
      const connected = first.sessions.length;
      const both = await openEtcd({ endpoints: [first, second].map(({ port }) => `127.0.0.1:${port}`) });
      if (first.sessions.length > connected) return both;
      await both.close();
    }
  }

  const values = (): (string | undefined)[] => watch.states.map((entry) => entry && new TextDecoder().decode(entry.value));

  async function shows(...expected: readonly string[]): Promise<void> {
    await expect.poll(values, SOON).toEqual(expected);
  }

  it('that is ended in the breath in which it began is begun again', async () => {
    onCreate = [(watching) => watching.says({ id: 5n, created: true }, { id: 5n, canceled: 'no more' }), creates];
    begin();
    await expect.poll(() => streams.flatMap(({ asked }) => asked), SOON).toEqual(['create', 'create']);
    await expect.poll(values, SOON).toContain('read');
    expect(watch.stale).toHaveLength(1);
  });

  it('that its consumer leaves at what it is told as it begins is ended at the server, too', async () => {
    onCreate = [
      (watching) => watching.says({ id: 4n, created: true }),
      (watching) => watching.says({ id: 5n, created: true }, { id: 5n, puts: 'put' }),
    ];
    begin();
    await shows('read');
    const stop = new AbortController();
    for await (const entry of store.watch('a', { signal: stop.signal })) {
      expect(new TextDecoder().decode(entry?.value)).toBe('put');
      stop.abort();
    }
    await expect.poll(() => streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 5']);
  });

  it.each<[string, (watching: Watching) => void]>([
    ['the end of the watch', (watching) => watching.says({ id: 5n, puts: 'put' }, { id: 5n, canceled: 'no more' })],
    ['nonsense', (watching) => watching.stream.write(Buffer.concat([watchAnswer({ id: 5n, puts: 'put' }), frame(Uint8Array.of(0x0b))]))],
  ])('shows no state after the word that it is stale, where %s came with a change', async (_, say) => {
    begin();
    await shows('read');
    // From now on no new watch is answered: the outage lasts.
    onCreate = [() => {}];
    for (const watching of streams) say(watching);
    // By the time that the server is asked again, all that it had said has been told.
    await expect.poll(() => streams.flatMap(({ asked }) => asked), SOON).toEqual(['create', 'create']);
    expect([values(), watch.stale.length]).toEqual([['read'], 1]);
  });

  it('is read, then watched; what it shows is the last change', async () => {
    begin();
    await shows('read');
    streams[0]?.says({ id: 5n, puts: 'put' });
    await shows('read', 'put');
    expect(watch.stale).toEqual([]);
  });

  it('takes no notice of what is said of others', async () => {
    begin();
    await shows('read');
    streams[0]?.says({ id: 99n, puts: 'of another' });
    streams[0]?.says({ id: 98n, canceled: 'another' });
    streams[0]?.says({ id: 5n, puts: 'mine' });
    await shows('read', 'mine');
  });

  it.each<[string, (watching: Watching) => void]>([
    ['compacted away', (watching) => watching.says({ id: 5n, canceled: '', compacted: 10n })],
    ['ended by the server for a reason of its own', (watching) => watching.says({ id: 5n, canceled: 'etcdserver: watcher is slow' })],
    ['ended with its stream', (watching) => watching.ends(0, '')],
    ['ended with its stream for want of a leader', (watching) => watching.ends(14, 'etcdserver: no leader')],
    ['ended by a reset of its stream', (watching) => watching.stream.close(2)],
    ['told nonsense', (watching) => watching.stream.write(frame(new Uint8Array([0x0b])))],
    ['told that the server is leaving', (watching) => watching.stream.session?.goaway(0)],
  ])('%s, it is stale once, is read again and goes on', async (_, end) => {
    begin();
    await shows('read');
    onRead = reads('read again');
    end(streams[0] ?? expect.unreachable('no stream'));
    await shows('read', 'read again');
    expect(watch.stale.length).toBe(1);
    expect(watch.stale[0]).toMatchObject({ name: 'StoreError' });
    streams.at(-1)?.says({ id: 5n, puts: 'put' });
    await shows('read', 'read again', 'put');
  });

  it('never shows, once it is stale, what nobody had asked for before', async () => {
    let stale = 0;
    const states = store.watch('a', { signal: new AbortController().signal, onStale: () => void (stale += 1) });
    const iterator = states[Symbol.asyncIterator]();
    await iterator.next();
    streams[0]?.says({ id: 5n, puts: 'not asked for' });
    onCreate = [() => {}];
    // In the same breath: the change is there when the stream goes.
    streams[0]?.ends(0, '');
    await expect.poll(() => stale, SOON).toBe(1);
    onRead = reads('read again');
    onCreate = [creates];
    const next = await iterator.next();
    expect(new TextDecoder().decode(next.done === true ? undefined : next.value?.value)).toBe('read again');
    await iterator.return?.();
  });

  it('ends after whatever else is asked for in that turn: nobody waits for its end', async () => {
    onCreate = [creates, (watching) => watching.says({ id: 6n, created: true })];
    begin();
    await shows('read');
    const other = new Recorder<Entry | undefined>((options) => store.watch('b', options));
    await expect.poll(() => other.states.length, SOON).toBe(1);
    const before: (readonly string[])[] = [];
    onRead = (stream, headers) => {
      // Whatever came before it has been read by then.
      setImmediate(() => {
        before.push([...(streams[0]?.asked ?? [])]);
        reads('read')(stream, headers);
      });
    };
    void watch.stop();
    await store.read('c', { timeoutMs: 5_000 });
    await expect.poll(() => streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 5']);
    expect(before).toEqual([['create', 'create']]);
    await other.stop();
  });

  it('does not keep a server that is leaving waiting', async () => {
    begin();
    await shows('read');
    streams[0]?.stream.session?.goaway(0);
    await expect.poll(() => streams[0]?.stream.closed, SOON).toBe(true);
    await shows('read', 'read');
  });

  it('goes to another member when its own has lost the leader', async () => {
    const other = await startFakeServer((stream, headers) => {
      if (headers[':path'] !== '/etcdserverpb.Watch/Watch') return answer(stream, headers);
      streams.push(new Watching(stream, creates));
    });
    const both = await openOn(server, other);
    const moved = new Recorder<Entry | undefined>((options) => both.watch('a', options));
    await expect.poll(() => moved.states.length, SOON).toBe(1);
    streams[0]?.ends(14, 'etcdserver: no leader');
    await expect.poll(() => moved.states.length, SOON).toBe(2);
    expect(streams[1]?.stream.session).toBe(other.sessions.at(-1));
    await both.close();
    await other[Symbol.asyncDispose]();
  });

  it('that cannot be made says so once, however long it takes', async () => {
    const unable = (watching: Watching): void => watching.ends(14, 'etcdserver: no leader');
    onCreate = [unable, unable, unable, creates];
    begin();
    await shows('read');
    expect(watch.stale.map(({ code }) => code)).toEqual(['UNAVAILABLE']);
    expect(streams.length).toBe(4);
  });

  it('turned away for the token of its stream gets another stream, and nobody is alarmed', async () => {
    onCreate = [(watching) => watching.says({ id: -1n, created: true, canceled: 'etcdserver: permission denied' }), creates];
    begin();
    await shows('read');
    expect([watch.stale, streams.length]).toEqual([[], 2]);
  });

  it.each([
    ['permission denied', 'PERMISSION_DENIED'],
    ['invalid auth token', 'UNAUTHENTICATED'],
  ])('turned away twice (%s) ends', async (reason, code) => {
    onCreate = [(watching) => watching.says({ id: -1n, created: true, canceled: `etcdserver: ${reason}` })];
    begin();
    expect(await watch.ended).toMatchObject({ code });
    expect([values(), watch.stale, streams.length]).toEqual([[], [], 2]);
  });

  it('that may not be read ends, and is never asked for', async () => {
    onRead = fails(7, 'etcdserver: permission denied');
    begin();
    expect(await watch.ended).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    expect(streams).toEqual([]);
  });

  it('that the server never answers is tried on another stream', async () => {
    onCreate = [() => {}, creates];
    begin();
    await expect.poll(values, { timeout: 8_000 }).toEqual(['read']);
    expect([watch.stale.map(({ code }) => code), streams.length]).toEqual([['TIMEOUT'], 2]);
  }, 10_000);

  it('left before it was made is cancelled when it is; another one on the stream goes on', async () => {
    onCreate = [() => {}];
    begin();
    const other = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    await expect.poll(() => streams[0]?.asked, SOON).toEqual(['create', 'create']);
    await watch.stop();
    // In the order in which they were asked for, as etcd does.
    streams[0]?.says({ id: 4n, created: true });
    streams[0]?.says({ id: 5n, created: true });
    await expect.poll(() => streams[0]?.asked, SOON).toEqual(['create', 'create', 'cancel 4']);
    await expect.poll(() => other.states.length, SOON).toBe(1);
  });

  it('that was the last frees its stream', async () => {
    begin();
    await shows('read');
    await watch.stop();
    await expect.poll(() => streams[0]?.stream.closed, SOON).toBe(true);
    expect(streams[0]?.asked).toEqual(['create']);
    begin();
    await shows('read');
    expect(streams.length).toBe(2);
  });

  it('that has ended is forgotten, with all that it held', async () => {
    setFlagsFromString('--expose-gc');
    const collector: unknown = runInNewContext('gc');
    if (typeof collector !== 'function') throw new Error('no garbage collector');
    async function watchOnce(): Promise<WeakRef<object>> {
      const held = { onStale: (): void => {} };
      const abort = new AbortController();
      const iterator = store.watch('a', { signal: abort.signal, onStale: held.onStale })[Symbol.asyncIterator]();
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

  describe('on a server that has gone silent for watches', () => {
    beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => vi.useRealTimers());

    /** Lets the time pass after which a proof is asked for, and waits until the server was asked. */
    async function untilAsked(times: number): Promise<void> {
      await vi.advanceTimersByTimeAsync(3_000);
      await expect.poll(() => streams[0]?.progressAsked, SOON).toBe(times);
    }

    async function passed(): Promise<(string | undefined)[]> {
      await vi.advanceTimersByTimeAsync(100);
      return values();
    }

    it('is stale, is read again and goes on by another stream', async () => {
      begin();
      await shows('read');
      streams[0]!.progress = undefined;
      onRead = reads('read again');
      await untilAsked(1);
      await expect.poll(passed, SOON).toEqual(['read', 'read again']);
      expect(watch.stale).toHaveLength(1);
      expect(streams).toHaveLength(2);
    });

    it('is so, too, where that server does not come as far as reads have shown', async () => {
      begin();
      await shows('read');
      streams[0]!.progress = REVISION - 1n;
      onRead = reads('read again');
      await untilAsked(1);
      await expect.poll(passed, SOON).toEqual(['read', 'read again']);
      expect(streams[0]!.progressAsked).toBeGreaterThan(1);
    });

    it('that was never confirmed ends its stream and goes on by a connection of its own', async () => {
      // A connection that is younger is kept.
      const now = performance.now.bind(performance);
      vi.spyOn(performance, 'now').mockImplementation(() => now() + 2_000);
      const unconfirmed = 3;
      onCreate = [...Array.from({ length: unconfirmed }, () => () => {}), creates];
      begin();
      for (let nth = 0; nth < unconfirmed; nth += 1) {
        await expect.poll(() => streams[nth]?.asked, SOON).toEqual(['create']);
        // The connection was opened 2 s ago, by the clock as it is from now on.
        vi.mocked(performance.now).mockImplementation(() => now() + 2_000 * (nth + 2));
        const next = async (): Promise<number> => {
          await vi.advanceTimersByTimeAsync(500);
          return streams.length;
        };
        await expect.poll(next, SOON).toBe(nth + 2);
      }
      await shows('read');
      await expect.poll(() => streams.map(({ stream }) => stream.closed), SOON).toEqual([true, true, true, false]);
      expect(new Set(server.sessions).size).toBe(unconfirmed + 1);
      vi.mocked(performance.now).mockRestore();
    });

    it('that was never confirmed leaves the confirmed ones their stream', async () => {
      onCreate = [creates, () => {}, creates];
      begin();
      await shows('read');
      const other = new Recorder<Entry | undefined>((options) => store.watch('a', options));
      await expect.poll(() => streams[0]?.asked, SOON).toEqual(['create', 'create']);
      const begun = async (): Promise<number> => {
        await vi.advanceTimersByTimeAsync(500);
        return other.states.length;
      };
      await expect.poll(begun, SOON).toBe(1);
      expect([streams.length, watch.stale.length, streams[0]?.stream.closed]).toEqual([2, 0, false]);
      await watch.stop();
      // What was never confirmed does not keep it.
      await expect.poll(() => streams[0]?.stream.closed, SOON).toBe(true);
      await other.stop();
    });

    it('is so, too, where that server answers for its watches and serves no read', async () => {
      begin();
      await shows('read');
      onRead = (stream, headers) => (stream.session === server.sessions[0] ? undefined : reads('read elsewhere')(stream, headers));
      await untilAsked(1);
      const reread = async (): Promise<number> => {
        await vi.advanceTimersByTimeAsync(500);
        return watch.stale.length;
      };
      await expect.poll(reread, SOON).toBe(1);
      expect(streams[0]?.stream.closed).toBe(true);
    });

    it('is so within a second where another server shows that something was written', async () => {
      const beyond = ok(new Writer().message(1, new Writer().int64(3, REVISION + 1n)).finish());
      const other = await startFakeServer((stream, headers) => (headers[':path'] === RANGE ? beyond : answer)(stream, headers));
      const both = await openOn(server, other);
      const moved = new Recorder<Entry | undefined>((options) => both.watch('a', options));
      await expect.poll(() => moved.states.length, SOON).toBe(1);
      onRead = () => {};
      await untilAsked(1);
      await vi.advanceTimersByTimeAsync(1_000);
      // A poll would let the time of the clock pass.
      for (const endsAt = performance.now() + SOON.timeout; moved.stale.length === 0 && performance.now() < endsAt;) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(moved.stale.length).toBe(1);
      await both.close();
      await other[Symbol.asyncDispose]();
    });

    it('is not, where that server is only slow and nothing was written', async () => {
      begin();
      await shows('read');
      const slow: (() => void)[] = [];
      onRead = (stream, headers) => void slow.push(() => reads('read')(stream, headers));
      await untilAsked(1);
      await vi.advanceTimersByTimeAsync(2_000);
      await expect.poll(() => slow.length, SOON).toBe(2);
      onRead = reads('read');
      for (const respond of slow) respond();
      // What was answered before has arrived when this has.
      await store.read('c', { timeoutMs: 5_000 });
      await untilAsked(2);
      expect([watch.stale.length, streams.length]).toEqual([0, 1]);
    });

    it('is not, where that server may not be asked, or fails once', async () => {
      begin();
      await shows('read');
      let failures = 1;
      onRead = (stream, headers) => {
        failures -= 1;
        return (failures === 0 ? fails(14, 'etcdserver: leader changed') : fails(7, 'etcdserver: permission denied'))(stream, headers);
      };
      await untilAsked(1);
      await expect.poll(() => failures, SOON).toBe(0);
      for (const times of [2, 3]) {
        const asked = async (): Promise<number | undefined> => {
          await vi.advanceTimersByTimeAsync(500);
          return streams[0]?.progressAsked;
        };
        await expect.poll(asked, SOON).toBe(times);
      }
      expect([watch.stale.length, streams.length]).toEqual([0, 1]);
    });

    it('is not, where that server only lags behind for a moment', async () => {
      begin();
      await shows('read');
      streams[0]!.progress = REVISION - 1n;
      await untilAsked(1);
      streams[0]!.progress = REVISION;
      await vi.advanceTimersByTimeAsync(250);
      await expect.poll(() => streams[0]?.progressAsked, SOON).toBe(2);
      await untilAsked(3);
      expect([watch.stale.length, streams.length]).toEqual([0, 1]);
    });
  });

  it('whose listener throws ends with what it threw', async () => {
    const states = store.watch('a', {
      signal: new AbortController().signal,
      onStale: () => {
        throw new Error('the listener’s own');
      },
    });
    const iterator = states[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    streams[0]?.stream.close(2);
    await expect(next).rejects.toThrow('the listener’s own');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});
