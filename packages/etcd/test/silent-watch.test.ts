/** Watches on a server that goes silent for them, and answers pings and calls. */

import type { Entry } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Writer } from '../src/protocol/protobuf.ts';
import { fails, http, ok, startFakeServer } from './fake-server.ts';
import { creates, openOn, RANGE, reads, REVISION, SOON, WatchScene } from './fake-watches.ts';

describe('a watch on a server that sends no more events', () => {
  let scene: WatchScene;

  beforeEach(async () => {
    scene = await WatchScene.open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await scene.close();
  });

  /** Lets the time pass after which a proof is due, and waits for the read of this proof. */
  async function untilProofReads(): Promise<void> {
    const before = scene.readsAsked;
    await vi.advanceTimersByTimeAsync(3_000);
    await expect.poll(() => scene.readsAsked, SOON).toBeGreaterThan(before);
  }

  /** Also waits until the stream has sent `times` requests for progress in all. */
  async function untilProgressRequested(times: number): Promise<void> {
    await untilProofReads();
    await expect.poll(() => scene.streams[0]?.progressAsked, SOON).toBe(times);
  }

  /** For `expect.poll`: lets the fake time pass before each look. */
  function advancing<T>(stepMs: number, look: () => T): () => Promise<T> {
    return async () => {
      await vi.advanceTimersByTimeAsync(stepMs);
      return look();
    };
  }

  it('goes stale, reads again and continues on another stream', async () => {
    scene.begin();
    await scene.shows('read');
    scene.streams[0]!.progress = undefined;
    scene.onRead = reads('read again', REVISION + 1n);
    await untilProgressRequested(1);
    await expect.poll(advancing(100, scene.values), SOON).toEqual(['read', 'read again']);
    expect(scene.watch.stale).toHaveLength(1);
    expect(scene.streams).toHaveLength(2);
  });

  it('requests progress again and again, then reads again, if the server reports an older revision than reads have shown', async () => {
    scene.begin();
    await scene.shows('read');
    scene.onRead = reads('read again', REVISION + 1n);
    await untilProgressRequested(1);
    await expect.poll(advancing(100, scene.values), SOON).toEqual(['read', 'read again']);
    expect(scene.streams[0]!.progressAsked).toBeGreaterThan(1);
  });

  it('goes stale and continues on another stream if the server never reaches the revision after which the watch begins', async () => {
    scene.begin(String(REVISION + 2n));
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create']);
    await untilProgressRequested(1);
    await expect.poll(advancing(100, scene.values), SOON).toEqual(['read']);
    expect([scene.watch.stale.length, scene.streams.length]).toEqual([1, 2]);
  });

  it('does not go stale if nothing was written, although the server reports no progress then', async () => {
    scene.begin();
    await scene.shows('read');
    scene.streams[0]!.progress = undefined;
    for (let proofs = 0; proofs < 4; proofs += 1) await untilProofReads();
    expect([scene.watch.stale.length, scene.streams.length, scene.streams[0]?.progressAsked]).toEqual([0, 1, 0]);
  });

  it('that was never confirmed ends its stream and is created on a new connection', async () => {
    // A connection that is younger is kept.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 2_000);
    const unconfirmed = 3;
    scene.onCreate = [...Array.from({ length: unconfirmed }, () => () => {}), creates];
    scene.begin();
    for (let nth = 0; nth < unconfirmed; nth += 1) {
      await expect.poll(() => scene.streams[nth]?.asked, SOON).toEqual(['create']);
      // The connection was opened 2 s ago, by the clock as it is from now on.
      vi.mocked(performance.now).mockImplementation(() => now() + 2_000 * (nth + 2));
      await expect
        .poll(
          advancing(500, () => scene.streams.length),
          SOON,
        )
        .toBe(nth + 2);
    }
    await scene.shows('read');
    await expect.poll(() => scene.streams.map(({ stream }) => stream.closed), SOON).toEqual([true, true, true, false]);
    expect(new Set(scene.server.sessions).size).toBe(unconfirmed + 1);
    vi.mocked(performance.now).mockRestore();
  });

  it('that was never confirmed does not end the stream of confirmed watches', async () => {
    scene.onCreate = [creates, () => {}, creates];
    scene.begin();
    await scene.shows('read');
    const other = new Recorder<Entry | undefined>((options) => scene.store.watch('a', options));
    await expect.poll(() => scene.streams[0]?.asked, SOON).toEqual(['create', 'create']);
    await expect
      .poll(
        advancing(500, () => other.states.length),
        SOON,
      )
      .toBe(1);
    expect([scene.streams.length, scene.watch.stale.length, scene.streams[0]?.stream.closed]).toEqual([2, 0, false]);
    await scene.watch.stop();
    // What was never confirmed does not keep it.
    await expect.poll(() => scene.streams[0]?.stream.closed, SOON).toBe(true);
    await other.stop();
  });

  it('goes stale if the server reports progress of its watches but answers no read', async () => {
    scene.begin();
    await scene.shows('read');
    scene.onRead = (stream, headers) =>
      stream.session === scene.server.sessions[0] ? undefined : reads('read elsewhere')(stream, headers);
    await untilProofReads();
    await expect
      .poll(
        advancing(500, () => scene.watch.stale.length),
        SOON,
      )
      .toBe(1);
    expect(scene.streams[0]?.stream.closed).toBe(true);
  });

  it.each([
    ['a gateway forbids each check', http(403)],
    ['the server refuses each check, and not for a missing permission', fails(3, 'etcdserver: key is not provided')],
  ])('goes stale if %s', async (_, answer) => {
    scene.begin();
    await scene.shows('read');
    scene.onRead = answer;
    await untilProofReads();
    await expect
      .poll(
        advancing(500, () => scene.watch.stale.length),
        SOON,
      )
      .toBe(1);
    expect(scene.streams[0]?.stream.closed).toBe(true);
  });

  it('goes stale within a second if another server shows a later revision', async () => {
    const beyond = ok(new Writer().message(1, new Writer().int64(3, REVISION + 1n)).finish());
    const other = await startFakeServer((stream, headers) => (headers[':path'] === RANGE ? beyond : scene.answer)(stream, headers));
    const both = await openOn(scene.server, other);
    const moved = new Recorder<Entry | undefined>((options) => both.watch('a', options));
    await expect.poll(() => moved.states.length, SOON).toBe(1);
    scene.onRead = () => {};
    await untilProofReads();
    await vi.advanceTimersByTimeAsync(1_000);
    // A poll would let the time of the clock pass.
    for (const endsAt = performance.now() + SOON.timeout; moved.stale.length === 0 && performance.now() < endsAt;) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(moved.stale.length).toBe(1);
    await both.close();
    await other[Symbol.asyncDispose]();
  });

  it('does not go stale if the server is slow and nothing was written', async () => {
    scene.begin();
    await scene.shows('read');
    const slow: (() => void)[] = [];
    scene.onRead = (stream, headers) => void slow.push(() => reads('read')(stream, headers));
    await untilProofReads();
    await vi.advanceTimersByTimeAsync(2_000);
    await expect.poll(() => slow.length, SOON).toBe(2);
    scene.onRead = reads('read');
    for (const respond of slow) respond();
    // What was answered before has arrived when this has.
    await scene.store.read('c', { timeoutMs: 5_000 });
    await untilProofReads();
    expect([scene.watch.stale.length, scene.streams.length]).toEqual([0, 1]);
  });

  it('does not go stale if the server denies the check, or fails once', async () => {
    scene.begin();
    await scene.shows('read');
    let failures = 1;
    scene.onRead = (stream, headers) => {
      failures -= 1;
      return (failures === 0 ? fails(14, 'etcdserver: leader changed') : fails(7, 'etcdserver: permission denied'))(stream, headers);
    };
    await untilProofReads();
    await expect.poll(() => failures, SOON).toBe(0);
    // The read after the failure, and those of the next two proofs.
    for (const times of [1, 2, 3]) {
      await expect
        .poll(
          advancing(500, () => -failures),
          SOON,
        )
        .toBe(times);
    }
    expect([scene.watch.stale.length, scene.streams.length]).toEqual([0, 1]);
  });

  it('does not go stale if the server lags behind for a moment', async () => {
    scene.begin();
    await scene.shows('read');
    scene.onRead = reads('read', REVISION + 1n);
    await untilProgressRequested(1);
    scene.streams[0]!.progress = REVISION + 1n;
    await vi.advanceTimersByTimeAsync(250);
    await expect.poll(() => scene.streams[0]?.progressAsked, SOON).toBe(2);
    // The stream has reported this revision, so the next proof needs no progress.
    await untilProgressRequested(2);
    expect([scene.watch.stale.length, scene.streams.length]).toEqual([0, 1]);
  });
});
