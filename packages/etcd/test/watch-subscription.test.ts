/** Watches that nobody needs any more, and new ones that take them over. */

import type { Entry } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { WatchEvent } from '../src/protocol/watch.ts';
import { CancelledWatches, Subscription } from '../src/watch-subscription.ts';
import { creates, SOON, WatchScene } from './fake-watches.ts';

function changeAt(modRevision: bigint): WatchEvent {
  const [value, createRevision, lease] = [new Uint8Array(0), 1n, 0n];
  return { deleted: false, kv: { key: 'a', value, modRevision, createRevision, lease } };
}

interface Watched {
  readonly watch: Subscription;
  /** The revisions of the events that the subscriber has received. */
  readonly received: bigint[];
}

describe('a cancelled watch', () => {
  let cancelled: CancelledWatches;
  /** The ids of the watches that the server was told to cancel. */
  let told: (bigint | undefined)[];

  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    cancelled = new CancelledWatches((watches) => told.push(...watches.map(({ id }) => id)));
  });
  afterEach(() => void vi.useRealTimers());

  function watching(key: string, startRevision: bigint): Watched {
    const received: bigint[] = [];
    const onEvents = (events: readonly WatchEvent[]): void => void received.push(...events.map(({ kv }) => kv.modRevision));
    const onEnded = (): void => expect.unreachable('the server does not end it');
    const subscriber = { stopped: false, signal: new AbortController().signal, onEvents, onEnded };
    return { watch: new Subscription({ range: { key }, startRevision }, subscriber, (each) => cancelled.add(each)), received };
  }

  /** A watch of `a` from revision 8 on, which has received these changes and was cancelled. */
  function over(...revisions: readonly bigint[]): Watched {
    const made = watching('a', 8n);
    made.watch.started(5n);
    for (const revision of revisions) made.watch.receive([changeAt(revision)]);
    made.watch.cancel();
    return made;
  }

  it('is cancelled at the server a moment later', () => {
    over();
    expect(told).toEqual([]);
    vi.advanceTimersByTime(10);
    expect([told, vi.getTimerCount()]).toEqual([[5n], 0]);
  });

  it('is taken over by one of the same key that begins until then, with the changes that came in between', async () => {
    const before = over(9n);
    before.watch.receive([changeAt(10n)]);
    before.watch.receive([changeAt(11n)]);
    const { watch, received } = watching('a', 10n);
    const taken = cancelled.take(watch.watched);
    expect(taken).toBe(before.watch);
    watch.takeOver(before.watch);
    await watch.created;
    watch.receive([changeAt(12n)]);
    expect([watch.id, received, before.received]).toEqual([5n, [10n, 11n, 12n], [9n]]);
    vi.advanceTimersByTime(10);
    expect(told).toEqual([]);
    watch.cancel();
    vi.advanceTimersByTime(10);
    expect(told).toEqual([5n]);
  });

  it.each([
    ['has shown a change to its own subscriber that the new one must show', [9n], 'a', 9n],
    ['began later', [], 'a', 7n],
    ['is of another key', [], 'b', 8n],
  ])('is not taken over if it %s', (_, revisions, key, startRevision) => {
    over(...revisions);
    expect(cancelled.take(watching(key, startRevision).watch.watched)).toBeUndefined();
    vi.advanceTimersByTime(10);
    expect(told).toEqual([5n]);
  });

  it('is forgotten if the server has ended it, or the stream has ended', () => {
    const { watch } = over();
    cancelled.delete(watch);
    over();
    cancelled.clear();
    vi.advanceTimersByTime(10);
    expect([told, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('a watch that begins when another one of its key has ended', () => {
  let scene: WatchScene;

  beforeEach(async () => {
    scene = await WatchScene.open();
  });
  afterEach(async () => scene.close());

  it('uses that one, and asks the server for nothing', async () => {
    scene.onCreate = [creates, (watching) => watching.says({ id: 6n, created: true })];
    scene.begin();
    await scene.shows('read');
    const other = new Recorder<Entry | undefined>((options) => scene.store.watch('b', options));
    await expect.poll(() => other.states.length, SOON).toBe(1);
    void scene.watch.stop();
    scene.begin('7');
    scene.streams[0]?.says({ id: 5n, puts: 'put' });
    await scene.shows('put');
    expect(scene.streams.map(({ asked }) => asked)).toEqual([['create', 'create']]);
    await other.stop();
  });
});
