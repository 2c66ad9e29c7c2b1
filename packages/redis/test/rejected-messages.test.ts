/**
 * Messages on the channel that no script of this version has published: forged, repeated, or of
 * another version.
 */

import { describe, expect, it } from 'vitest';

import { KeyWatchState, ListWatchState } from '../src/watch-state.ts';
import { push } from './fake-servers.ts';
import { fields, published, SECRET, signed, values, WatchScene } from './watch-scene.ts';

describe('a signed message that cannot be read', () => {
  it.each([
    ['with an order that is not a number', published('p', 'a', '2', 'first', '', '-1', 'x')],
    ['with an order of 20 digits', published('p', 'a', '2', '9'.repeat(20), '', '-1', 'x')],
    ['with a time that is not a number', published('p', 'a', '2', '1', 'l', 'soon', 'x')],
    ['of an unknown kind', published('x', 'a')],
  ])('%s makes the watch read again', async (_, message) => {
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    scene.entries = [fields('a', 'two', '3')];
    await scene.receive(message);
    expect([values(states).at(-1), stale]).toEqual(['two', []]);
  });

  it('makes every watch read again', async () => {
    using scene = new WatchScene();
    const one = scene.start(new KeyWatchState('a'));
    const all = scene.start(new ListWatchState('q'));
    await scene.advance(0);
    await scene.receive(published('x', 'a'));
    expect([one.states.length, all.states.length]).toEqual([2, 2]);
  });
});

describe('a message that is not of a script', () => {
  it.each([
    ['without a signature and fields', push('message', 'changes', 'what is this')],
    ['without a signature', push('message', 'changes', '4:90001:d1:a')],
    ['signed with another secret', push('message', 'changes', signed('another secret, as long as it is', 90_000, 'd', 'a'))],
    ['of no items', '>0\r\n'],
    ['of another shape', `>1\r\n%0\r\n`],
    ['signed, without a stamp', push('message', 'changes', signed(SECRET, Number.NaN, 'd', 'a'))],
    ['of a signature only', push('message', 'changes', signed(SECRET, 0).slice(0, 40))],
  ])('%s is ignored, and costs one request at the next heartbeat', async (_, message) => {
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    for (let time = 0; time < 50; time += 1) await scene.receive(message);
    await scene.advance(1_900);
    expect([values(states), scene.reads]).toEqual([['one'], 1]);
    await scene.advance(2_000);
    expect([values(states), scene.reads]).toEqual([['one'], 1]);
    expect(scene.secretReads).toBeLessThanOrEqual(2);
  });

  it('is ignored if it repeats the message of a script', async () => {
    // A repetition has a lower stamp than the last message.
    const [, repeated] = [published('d', 'a'), published('d', 'a')];
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    await scene.receive(repeated);
    scene.lastStamp = 1_000_000;
    await scene.receive(published('p', ...fields('a', 'two', '3')));
    for (let time = 0; time < 50; time += 1) await scene.receive(repeated);
    await scene.advance(3_000);
    expect([values(states), scene.reads]).toEqual([['one', undefined, 'two'], 1]);
  });
});

describe('a rejected message that may be of a script', () => {
  it('makes watches read again if the namespace has a new secret, because somebody deleted the former one', async () => {
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    [scene.entries, scene.secret] = [[fields('a', 'two', '3')], 'another secret, as long as it is'];
    await scene.receive(push('message', 'changes', signed(scene.secret, 90_000, 'd', 'a')));
    await scene.advance(2_000);
    expect([values(states), scene.reads]).toEqual([['one', 'two'], 2]);
    await scene.receive(push('message', 'changes', signed(scene.secret, 90_001, 'd', 'a')));
    expect(values(states).at(-1)).toBeUndefined();
  });

  it('makes watches read again if the server has lost its stamps and its clock was set back', async () => {
    using scene = new WatchScene();
    scene.lastStamp = 500_000;
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    [scene.entries, scene.lastStamp] = [[fields('a', 'two', '3')], 100];
    await scene.receive(published('d', 'a'));
    await scene.advance(2_000);
    expect([values(states), scene.reads]).toEqual([['one', 'two'], 2]);
  });
});
