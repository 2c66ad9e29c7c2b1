/**
 * A key that somebody changes by hand in the same round of the server as a script, and after it.
 */

import { expect, it } from 'vitest';

import { readScript } from '../src/scripts/reads.ts';
import { KeyWatchState, ListWatchState } from '../src/watch-state.ts';
import { bulk, list } from './fake-servers.ts';
import { changed, fields, published, values, WatchScene } from './watch-scene.ts';

/** The words of EVALSHA before the first read, and the words of each read. */
const [BEFORE_READS, WORDS_OF_READ] = [5, 5];

it('a change by hand that looks like the echo of a script is shown within 30 s', async () => {
  using scene = new WatchScene();
  scene.entries = [fields('a', 'one')];
  const { states, stop, ended } = await scene.watch(new KeyWatchState('a'));
  scene.entries = [];
  await scene.receive(published('p', ...fields('a', 'two', '3')), changed('a'));
  expect(values(states)).toEqual(['one', 'two']);
  await scene.advance(30_000);
  expect(values(states)).toEqual(['one', 'two', undefined]);
  // One read confirms all echoes at once. Another one follows because this echo was none.
  await scene.advance(100_000);
  expect(scene.reads).toBe(3);
  stop.abort();
  await ended;
});

it('confirming all echoes of 30 s costs one read, and shows nothing if the keys are as published', async () => {
  const confirmed = list([list([list(fields('q/a', 'two', '3').map(bulk))]), list([])]);
  using scene = new WatchScene(([name, , , , , , key]) => (name === 'EVALSHA' && key === 'q/a' ? confirmed : undefined));
  const { states } = await scene.watch(new ListWatchState('q'));
  await scene.receive(published('p', ...fields('q/a', 'two', '3'), 'd', 'q/b'), changed('q/a', 'q/b'));
  const before = scene.servers.peer.requests.length;
  await scene.advance(31_000);
  expect(states).toHaveLength(2);
  expect(scene.servers.peer.requests.slice(before).filter(([name]) => name === 'EVALSHA')).toHaveLength(1);
});

it('confirming the echoes of many keys takes several requests, each of at most 64 reads', async () => {
  const reads: number[] = [];
  let isConfirming = false;
  using scene = new WatchScene((request) => {
    if (!isConfirming || request[1] !== readScript.digest) return undefined;
    const count = (request.length - BEFORE_READS) / WORDS_OF_READ;
    reads.push(count);
    return list(Array.from({ length: count }, () => list([])));
  });
  const { states } = await scene.watch(new ListWatchState('q'));
  const keys = Array.from({ length: 150 }, (_, index) => `q/${index}`);
  await scene.receive(published(...keys.flatMap((key) => ['d', key])), changed(...keys));
  isConfirming = true;
  await scene.advance(31_000);
  expect(reads).toEqual([64, 64, 22]);
  // All keys are as published.
  expect(states).toHaveLength(2);
});

it('an echo of a key without a watch is not confirmed', async () => {
  using scene = new WatchScene();
  scene.start(new KeyWatchState('a'));
  await scene.advance(0);
  await scene.receive(published('p', ...fields('b', 'two', '3')), changed('b'));
  await scene.advance(100_000);
  expect(scene.reads).toBe(1);
});
