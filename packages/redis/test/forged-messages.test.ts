/** Watches whose server, or somebody who speaks on the channel, does what none should. */

import { describe, expect, it } from 'vitest';

import { KeyMirror, ListMirror } from '../src/watch-state.ts';
import { list, row, Scene, SECRET, signed, told, touched, values } from './watch-scene.ts';
import { bulk, push } from './fake-servers.ts';

describe('what a script tells that nobody understands', () => {
  it.each([
    ['tells of no order', told('p', 'a', '2', 'first', '', '-1', 'x')],
    ['tells of an order of 20 digits', told('p', 'a', '2', '9'.repeat(20), '', '-1', 'x')],
    ['tells of no time', told('p', 'a', '2', '1', 'l', 'soon', 'x')],
    ['tells of something else', told('x', 'a')],
  ])('and %s, ends neither the process nor the watch, which looks', async (_, said) => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states, stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    scene.rows = [row('a', 'two', '3')];
    await scene.say(said);
    expect([values(states).at(-1), stale]).toEqual(['two', []]);
    scene.close();
  });

  it('is doubted by every watch', async () => {
    const scene = new Scene();
    const one = scene.follow(new KeyMirror('a'));
    const all = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    await scene.say(told('x', 'a'));
    expect([one.states.length, all.states.length]).toEqual([2, 2]);
    scene.close();
  });
});

describe('what nobody of ours says on the channel', () => {
  const [, repeated] = [told('d', 'a'), told('d', 'a')];

  it.each([
    ['is no message', push('message', 'changes', 'what is this')],
    ['has no signature', push('message', 'changes', '4:90001:d1:a')],
    ['is signed with another secret', push('message', 'changes', signed('another secret, as long as it is', 90_000, 'd', 'a'))],
    ['is empty', '>0\r\n'],
    ['has another form', `>1\r\n%0\r\n`],
    ['is signed, and has no stamp', push('message', 'changes', signed(SECRET, Number.NaN, 'd', 'a'))],
    ['is signed, and no more than that', push('message', 'changes', signed(SECRET, 0).slice(0, 40))],
  ])('and %s, is not listened to, and costs one request with the next beat', async (_, said) => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    for (let time = 0; time < 50; time += 1) await scene.say(said);
    await scene.pass(1_900);
    expect([values(states), scene.looks]).toEqual([['one'], 1]);
    await scene.pass(2_000);
    expect([values(states), scene.looks]).toEqual([['one'], 1]);
    expect(scene.seals).toBeLessThanOrEqual(2);
    scene.close();
  });

  it('is not listened to when it repeats what a script has told', async () => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.say(repeated);
    scene.stamp = 1_000_000;
    await scene.say(told('p', ...row('a', 'two', '3')));
    for (let time = 0; time < 50; time += 1) await scene.say(repeated);
    await scene.pass(3_000);
    expect([values(states), scene.looks]).toEqual([['one', undefined, 'two'], 1]);
    scene.close();
  });

  it('is asked about where it may be a script’s that has another secret, as somebody deleted the first', async () => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    [scene.rows, scene.secret] = [[row('a', 'two', '3')], 'another secret, as long as it is'];
    await scene.say(push('message', 'changes', signed(scene.secret, 90_000, 'd', 'a')));
    await scene.pass(2_000);
    expect([values(states), scene.looks]).toEqual([['one', 'two'], 2]);
    await scene.say(push('message', 'changes', signed(scene.secret, 90_001, 'd', 'a')));
    expect(values(states).at(-1)).toBeUndefined();
    scene.close();
  });

  it('is asked about where it may be a script’s whose server has lost its stamps, and has its clock set back', async () => {
    const scene = new Scene();
    scene.stamp = 500_000;
    scene.rows = [row('a', 'one')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    [scene.rows, scene.stamp] = [[row('a', 'two', '3')], 100];
    await scene.say(told('d', 'a'));
    await scene.pass(2_000);
    expect([values(states), scene.looks]).toEqual([['one', 'two'], 2]);
    scene.close();
  });
});

describe('a watch whose server no longer serves it', () => {
  it('leaves it for another, as the slot has moved, though nobody calls', async () => {
    let moved = false;
    const endpoints = [
      { host: 'one', port: 1 },
      { host: 'two', port: 2 },
    ];
    const scene = new Scene(
      ([name]) => (moved && name === 'EVALSHA' && scene.servers.dialed.at(-1) === 'one:1' ? '-MOVED 1 two:2\r\n' : undefined),
      { endpoints },
    );
    scene.rows = [row('a', 'one', '2', 'l1')];
    const { states, stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    moved = true;
    scene.rows = [];
    await scene.pass(2_000);
    expect(scene.servers.dialed).toEqual(['one:1', 'two:2']);
    expect([values(states), stale.length]).toEqual([['one', undefined], 1]);
    scene.close();
  });

  it.each([
    ['is busy', '-BUSY Redis is busy running a script.\r\n'],
    ['cannot write', '-MISCONF Errors writing to the AOF file\r\n'],
  ])('says that it is stale when a lease is over and the server %s', async (_, refusal) => {
    let refuses = false;
    const scene = new Scene(([name]) => (refuses && name === 'EVALSHA' ? refusal : undefined));
    scene.rows = [row('a', 'one', '2', 'l1')];
    const { states, stale } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    refuses = true;
    await scene.pass(1_500);
    expect([values(states), stale]).toEqual([['one'], ['UNAVAILABLE']]);
    refuses = false;
    scene.rows = [];
    await scene.pass(1_000);
    expect(values(states)).toContain(undefined);
    scene.close();
  });

  it('that was told that it may not ask any more ends loudly', async () => {
    let forbidden = false;
    const scene = new Scene(([name]) => (forbidden && name === 'EVALSHA' ? "-NOPERM no permissions to run 'evalsha'\r\n" : undefined));
    scene.rows = [row('a', 'one', '2', 'l1')];
    const { ended } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    forbidden = true;
    await scene.pass(2_000);
    expect(await ended).toMatchObject({ code: 'PERMISSION_DENIED' });
    scene.close();
  });
});

describe('a key that another hand touches in the round in which a script told of it', () => {
  it('is looked at within 30 s: nothing says that it was touched twice', async () => {
    const scene = new Scene();
    scene.rows = [row('a', 'one')];
    const { states, stop, ended } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    scene.rows = [];
    await scene.say(told('p', ...row('a', 'two', '3')), touched('a'));
    expect(values(states)).toEqual(['one', 'two']);
    await scene.pass(30_000);
    expect(values(states)).toEqual(['one', 'two', undefined]);
    // One look at whether it is so, for all keys at once, another as it is not; and no more.
    await scene.pass(100_000);
    expect(scene.looks).toBe(3);
    stop.abort();
    await ended;
    scene.close();
  });

  it('costs one look in 30 s for all of them, and nothing is shown where it is as it was told', async () => {
    const scene = new Scene(([name, , , , , , key]) => (name === 'EVALSHA' && key === 'q/a' ? answer : undefined));
    const answer = list([list([list(row('q/a', 'two', '3').map(bulk))]), list([])]);
    const { states } = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    await scene.say(told('p', ...row('q/a', 'two', '3'), 'd', 'q/b'), touched('q/a', 'q/b'));
    const before = scene.servers.peer.requests.length;
    await scene.pass(31_000);
    expect(states).toHaveLength(2);
    expect(scene.servers.peer.requests.slice(before).filter(([name]) => name === 'EVALSHA')).toHaveLength(1);
    scene.close();
  });

  it('but that nobody watches is not', async () => {
    const scene = new Scene();
    scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.say(told('p', ...row('b', 'two', '3')), touched('b'));
    await scene.pass(100_000);
    expect(scene.looks).toBe(1);
    scene.close();
  });
});
