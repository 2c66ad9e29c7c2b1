import { describe, expect, it } from 'vitest';

import { KeyMirror, ListMirror } from '../src/watch-state.ts';
import { look } from '../src/scripts/reads.ts';
import { row, Scene, seen, told, touched, values } from './watch-scene.ts';
import { bulk, hello } from './fake-servers.ts';

describe('a watch', () => {
  it('looks once, and is told of the rest', async () => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.say(told('p', ...row('a', 'two', '3')), touched('a'));
    await scene.say(told('d', 'a'), touched('a'));
    await scene.say(told('p', ...row('b', 'other')), touched('b'));
    expect([values(states), scene.looks]).toEqual([['one', 'two', undefined], 1]);
    expect(scene.servers.peer.requests.slice(1, 3)).toEqual([
      ['SUBSCRIBE', 'changes'],
      ['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX', '{ns}/'],
    ]);
    scene.close();
  });

  it('looks again when the server names a key that no script told of: another’s hand', async () => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    scene.rows = [];
    await scene.say(touched('b', 'a'));
    expect([values(states), scene.looks]).toEqual([['one', undefined], 2]);
    scene.rows = [row('a', 'again')];
    // What was told of one round excuses no later one.
    await scene.say(told('d', 'a'), touched('a'));
    await scene.say(touched('a'));
    expect(values(states).at(-1)).toBe('again');
    scene.close();
  });

  it('looks again when everything was deleted at once, and when a value is too long to be told', async () => {
    const scene = new Scene();
    const { states } = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    await scene.say(`>2\r\n${bulk('invalidate')}_\r\n`);
    expect(scene.looks).toBe(2);
    scene.rows = [row('q/a', 'long')];
    await scene.say(told('u', 'q/a'));
    expect([values(states.at(-1) ?? []), scene.looks]).toEqual([['long'], 3]);
    scene.close();
  });

  it('of a list is told of every change that one script made at once, and keeps to the order of creation', async () => {
    const scene = new Scene();
    scene.rows = [row('q/a', '1'), row('q/b', '1')];
    const { states } = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    const late = ['q/c', '9', '9', '', '-1', '2'];
    await scene.say(told('p', ...late, 'd', 'q/a', 'p', ...row('q/b', '2', '8')));
    expect(states.map(values)).toEqual([
      ['1', '1'],
      ['2', '2'],
    ]);
    expect(states.at(-1)?.map(({ key }) => key)).toEqual(['q/b', 'q/c']);
    scene.close();
  });

  it('shows no change that was told before its look was answered as if it came after', async () => {
    const scene = new Scene(([name, digest]) => (name === 'EVALSHA' && digest === look.digest ? '' : undefined));
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.say(told('p', ...row('a', 'old')));
    await scene.say(seen(row('a', 'new', '3')));
    // Nobody knows which was first, so it looks again.
    expect(values(states)).toEqual(['new']);
    await scene.say(seen(row('a', 'new', '3')));
    expect(values(states)).toEqual(['new', 'new']);
    scene.close();
  });

  it('says that it is stale when the link is lost, once, and looks when there is another', async () => {
    const scene = new Scene();
    const { states, stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    scene.servers.refused.add('one:1');
    scene.servers.peer.cut();
    await scene.pass(3_000);
    expect([states.length, stale]).toEqual([1, ['CONNECTION_LOST']]);
    scene.servers.refused.clear();
    scene.rows = [row('a', 'meanwhile')];
    await scene.pass(500);
    expect([values(states), stale]).toEqual([[undefined, 'meanwhile'], ['CONNECTION_LOST']]);
    scene.close();
  });

  it('notices within 4 s that nobody answers any more', async () => {
    let silent = false;
    const scene = new Scene(() => (silent ? '' : undefined));
    const { stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(1_000);
    silent = true;
    await scene.pass(4_000);
    expect(stale).toEqual(['CONNECTION_LOST']);
    scene.close();
  });

  it('leaves a server that has become a replica', async () => {
    let role = 'master';
    const scene = new Scene(([name]) => (name === 'HELLO' ? hello({ role }) : undefined));
    const { stale, states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    role = 'replica';
    await scene.pass(2_500);
    expect([stale, scene.servers.peers[0]?.left]).toEqual([['UNAVAILABLE'], true]);
    role = 'master';
    await scene.pass(1_000);
    expect(states).toHaveLength(2);
    scene.close();
  });

  it('does without the server’s word where the user may not have it', async () => {
    const scene = new Scene(([name]) => (name === 'CLIENT' ? '-NOPERM no client|tracking\r\n' : undefined));
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.say(told('p', ...row('a', 'one')));
    expect(values(states)).toEqual([undefined, 'one']);
    scene.close();
  });

  it.each([
    ['may not listen', 'SUBSCRIBE'],
    ['may not look', 'EVALSHA'],
  ])('of a user who %s ends with PERMISSION_DENIED', async (_, forbidden) => {
    const scene = new Scene(([name]) => (name === forbidden ? '-NOPERM no\r\n' : undefined));
    const { ended } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    expect(await ended).toMatchObject({ code: 'PERMISSION_DENIED' });
    scene.close();
  });

  it('that the server is too busy for says that it is stale, and looks again soon', async () => {
    let busy = true;
    const scene = new Scene(([name]) => (busy && name === 'EVALSHA' ? '-BUSY Redis is busy running a script.\r\n' : undefined));
    const { states, stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    expect([states.length, stale]).toEqual([0, ['UNAVAILABLE']]);
    busy = false;
    await scene.pass(250);
    expect([states.length, stale]).toEqual([1, ['UNAVAILABLE']]);
    scene.close();
  });

  it('shows that a lease is over: asked for when its time is', async () => {
    let left = 700;
    const scene = new Scene(([name, , , , , lease]) => (name === 'EVALSHA' && lease === 'l1' ? `*1\r\n:${left}\r\n` : undefined));
    scene.rows = [row('a', 'one', '2', 'l1')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(1_100);
    expect(values(states)).toEqual(['one']);
    left = -2;
    await scene.pass(800);
    expect([values(states), scene.looks]).toEqual([['one', undefined], 1]);
    scene.close();
  });

  it('ends loudly with its store, and leaves no timer', async () => {
    const scene = new Scene();
    const { ended } = scene.follow(new KeyMirror('a'));
    await scene.pass(100);
    scene.close();
    expect(await ended).toMatchObject({ code: 'STORE_CLOSED' });
    const late = scene.follow(new KeyMirror('a'));
    expect(await late.ended).toMatchObject({ code: 'STORE_CLOSED' });
    await scene.pass(0);
    expect(scene.servers.clock.timers).toBe(0);
  });

  it('ends quietly by its signal; when nobody watches, the server is asked nothing', async () => {
    const scene = new Scene();
    const { ended, stop } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    stop.abort();
    expect(await ended).toBe('quietly');
    const before = scene.servers.peer.requests.length;
    await scene.pass(60_000);
    expect(scene.servers.peer.requests).toHaveLength(before);
    scene.close();
  });
});
