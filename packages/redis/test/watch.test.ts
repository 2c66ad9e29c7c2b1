/** What a watch shows, and what it reads for it. */

import { describe, expect, it } from 'vitest';

import { storedEntryFrom } from '../src/protocol/entries.ts';
import { readScript } from '../src/scripts/reads.ts';
import { KeyWatchState, ListWatchState } from '../src/watch-state.ts';
import { bulk } from './fake-servers.ts';
import { changed, fields, published, readAnswer, values, WatchScene } from './watch-scene.ts';

const keysOf = (states: readonly (readonly { readonly key: string }[])[]): readonly (readonly string[])[] =>
  states.map((entries) => entries.map(({ key }) => key));

/** An entry that was made last. */
const newest = (key: string): readonly string[] => [key, '9', '9', '', '-1', '2'];

const BUSY = '-BUSY Redis is busy running a script.\r\n';

describe('a watch', () => {
  it('reads once and takes everything else from published changes', async () => {
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    await scene.receive(published('p', ...fields('a', 'two', '3')), changed('a'));
    await scene.receive(published('d', 'a'), changed('a'));
    await scene.receive(published('p', ...fields('b', 'other')), changed('b'));
    expect([values(states), scene.reads]).toEqual([['one', 'two', undefined], 1]);
    expect(scene.servers.peer.requests.slice(1, 3)).toEqual([
      ['SUBSCRIBE', 'changes'],
      ['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX', '{ns}/'],
    ]);
  });

  it('reads again when the server names a key that no script has published: a change by hand', async () => {
    using scene = new WatchScene();
    scene.entries = [fields('a', 'one')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    scene.entries = [];
    await scene.receive(changed('b', 'a'));
    expect([values(states), scene.reads]).toEqual([['one', undefined], 2]);
    scene.entries = [fields('a', 'again')];
    // What a script published in one round does not explain a notice of the next round.
    await scene.receive(published('d', 'a'), changed('a'));
    await scene.receive(changed('a'));
    expect(values(states).at(-1)).toBe('again');
  });

  it('reads again when all keys were deleted at once, and when a value is too long to be published', async () => {
    using scene = new WatchScene();
    const { states } = await scene.watch(new ListWatchState('q'));
    await scene.receive(`>2\r\n${bulk('invalidate')}_\r\n`);
    expect(scene.reads).toBe(2);
    scene.entries = [fields('q/a', 'long')];
    await scene.receive(published('u', 'q/a'));
    expect([values(states.at(-1) ?? []), scene.reads]).toEqual([['long'], 3]);
  });

  it('reads again when a change arrives before the answer of its read: nobody knows which came first', async () => {
    using scene = new WatchScene(([name, digest]) => (name === 'EVALSHA' && digest === readScript.digest ? '' : undefined));
    const { states } = await scene.watch(new KeyWatchState('a'));
    await scene.receive(published('p', ...fields('a', 'old')));
    await scene.receive(readAnswer(fields('a', 'new', '3')));
    expect(values(states)).toEqual(['new']);
    await scene.receive(readAnswer(fields('a', 'new', '3')));
    expect(values(states)).toEqual(['new', 'new']);
  });

  it('works without notices of the server if the user lacks that permission', async () => {
    using scene = new WatchScene(([name]) => (name === 'CLIENT' ? '-NOPERM no client|tracking\r\n' : undefined));
    const { states } = await scene.watch(new KeyWatchState('a'));
    await scene.receive(published('p', ...fields('a', 'one')));
    expect(values(states)).toEqual([undefined, 'one']);
  });

  it('shows a change by hand within 30 s if the user lacks that permission', async () => {
    using scene = new WatchScene(([name, , , , , lease]) => {
      if (name === 'CLIENT') return '-NOPERM no client|tracking\r\n';
      return name === 'EVALSHA' && lease === 'l1' ? '*1\r\n:700\r\n' : undefined;
    });
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { states } = scene.start(new KeyWatchState('a'));
    await scene.advance(1_100);
    scene.entries = [];
    await scene.advance(31_000);
    expect(values(states)).toEqual(['one', undefined]);
  });

  it('keeps nothing of a key that it has shown, but the end of its lease', () => {
    const state = new KeyWatchState('a');
    state.reset([storedEntryFrom(fields('a', 'one', '2', 'l1').map((field) => Buffer.from(field)))]);
    expect(values([state.take(), state.take()])).toEqual(['one', undefined]);
    expect([...state.entries()]).toEqual([]);
    expect([state.removeLease('l2'), state.removeLease('l1'), state.removeLease('l1')]).toEqual([false, true, false]);
  });

  it('shows the end of a lease: it asks when the time of the lease is over', async () => {
    let left = 700;
    using scene = new WatchScene(([name, , , , , lease]) => (name === 'EVALSHA' && lease === 'l1' ? `*1\r\n:${left}\r\n` : undefined));
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { states } = scene.start(new KeyWatchState('a'));
    await scene.advance(1_100);
    expect(values(states)).toEqual(['one']);
    left = -2;
    await scene.advance(800);
    expect([values(states), scene.reads]).toEqual([['one', undefined], 1]);
  });

  it('ends with STORE_CLOSED with its store, and leaves no timer', async () => {
    const scene = new WatchScene();
    const { ended } = scene.start(new KeyWatchState('a'));
    await scene.advance(100);
    scene.close();
    expect(await ended).toMatchObject({ code: 'STORE_CLOSED' });
    const late = scene.start(new KeyWatchState('a'));
    expect(await late.ended).toMatchObject({ code: 'STORE_CLOSED' });
    await scene.advance(0);
    expect(scene.servers.clock.timers).toBe(0);
  });

  it('ends quietly by its signal; without watches, the server is asked nothing', async () => {
    using scene = new WatchScene();
    const { ended, stop } = await scene.watch(new KeyWatchState('a'));
    stop.abort();
    expect(await ended).toBe('quietly');
    const before = scene.servers.peer.requests.length;
    await scene.advance(60_000);
    expect(scene.servers.peer.requests).toHaveLength(before);
  });
});

describe('a watch of a list', () => {
  it('shows all changes of one script together, in the order of creation', async () => {
    using scene = new WatchScene();
    scene.entries = [fields('q/a', '1'), fields('q/b', '1')];
    const { states } = await scene.watch(new ListWatchState('q'));
    await scene.receive(published('p', ...newest('q/c'), 'd', 'q/a', 'p', ...fields('q/b', '2', '8')));
    expect(states.map(values)).toEqual([
      ['1', '1'],
      ['2', '2'],
    ]);
    expect(states.at(-1)?.map(({ key }) => key)).toEqual(['q/b', 'q/c']);
  });

  it('shows all of a swap or nothing, if one of its values is too long to be published', async () => {
    const state = new ListWatchState('q');
    const entries = (value: string) => [fields('q/a', value), fields('q/b', value)];
    using scene = new WatchScene();
    scene.entries = entries('old');
    const { states } = await scene.watch(state);
    scene.entries = entries('new');
    const receiving = scene.receive(published('p', ...fields('q/a', 'new', '4'), 'u', 'q/b'), changed('q/a', 'q/b'));
    // A snapshot that is taken at any moment has values of one kind.
    for (let turn = 0; turn < 20; turn += 1) {
      expect(new Set(values(state.take())).size).toBe(1);
      await Promise.resolve();
    }
    await receiving;
    expect(states.length).toBe(2);
  });

  it('shows nothing until its first read succeeds, whatever is published meanwhile', async () => {
    let isBusy = true;
    using scene = new WatchScene(([name]) => (isBusy && name === 'EVALSHA' ? BUSY : undefined));
    const { states, stale } = await scene.watch(new ListWatchState('q'));
    isBusy = false;
    scene.entries = [fields('q/a', '1'), fields('q/b', '1'), newest('q/c')];
    await scene.receive(published('p', ...newest('q/c')), changed('q/c'));
    expect([stale.length, states]).toEqual([1, []]);
    await scene.advance(1_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b', 'q/c']]);
  });

  it('shows nothing after a failed read until the next read succeeds', async () => {
    let isBusy = false;
    using scene = new WatchScene(([name]) => (isBusy && name === 'EVALSHA' ? BUSY : undefined));
    scene.entries = [fields('q/a', '1', '2', 'l1'), fields('q/b', '1')];
    const { states } = await scene.watch(new ListWatchState('q'));
    isBusy = true;
    await scene.receive(changed('q/b'));
    await scene.receive(published('p', ...newest('q/c')), changed('q/c'));
    await scene.advance(5_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b']]);
    isBusy = false;
    scene.entries = [newest('q/c')];
    await scene.advance(1_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b'], ['q/c']]);
  });
});
