import { describe, expect, it } from 'vitest';

import { isDead, isGroupGone, killGroup } from '../src/death.ts';
import { PARENT, World } from './world.ts';

const life = { pid: PARENT, started: '1' };

describe('the death of a process', () => {
  it('is proven when there is no process of its id', () => {
    const world = new World();
    expect(isDead(world, life)).toBe(false);
    world.table.delete(PARENT);
    expect(isDead(world, life)).toBe(true);
  });

  it.each(['Z', 'X'])('is proven when it has ended, and waits for its parent to ask (%s)', (state) => {
    const world = new World();
    world.set(PARENT, { state });
    expect(isDead(world, life)).toBe(true);
  });

  it('is not proven by the end of its first thread, while another one goes on', () => {
    const world = new World();
    world.set(PARENT, { state: 'Z', threads: 3 });
    expect(isDead(world, life)).toBe(false);
    world.set(PARENT, { threads: 1 });
    expect(isDead(world, life)).toBe(true);
  });

  it('is proven when its id is used again, by a process that started at another time', () => {
    const world = new World();
    world.start(PARENT, { started: '2' });
    expect(isDead(world, life)).toBe(true);
  });

  it.each(['R', 'S', 'D', 'T', 't', 'I'])('is not proven by the state %s', (state) => {
    const world = new World();
    world.set(PARENT, { state });
    expect(isDead(world, life)).toBe(false);
  });

  it('is not proven by a state that cannot be read', () => {
    const world = new World();
    world.set(PARENT, { hidden: true });
    expect(isDead(world, life)).toBe(false);
  });

  it('is proven by absence alone where the system tells neither states nor start times', () => {
    const world = new World();
    world.isLinux = false;
    world.set(PARENT, { state: 'Z' });
    expect(isDead(world, { pid: PARENT })).toBe(false);
    world.table.delete(PARENT);
    expect(isDead(world, { pid: PARENT })).toBe(true);
  });
});

describe('the end of a process group', () => {
  const group = { pid: 200, started: '7' };

  function worldWith(...pids: readonly number[]): World {
    const world = new World();
    for (const pid of pids) world.start(pid, { group: 200, started: '7' });
    return world;
  }

  it('has come when none of its processes is left', () => {
    const world = worldWith(200, 201);
    expect(isGroupGone(world, group)).toBe(false);
    world.table.delete(200);
    expect(isGroupGone(world, group)).toBe(false);
    world.table.delete(201);
    expect(isGroupGone(world, group)).toBe(true);
  });

  it('has come when all that is left has ended, and waits to be asked for', () => {
    const world = worldWith(200, 201);
    world.set(200, { state: 'Z' });
    expect(isGroupGone(world, group)).toBe(false);
    world.set(201, { state: 'Z' });
    expect(isGroupGone(world, group)).toBe(true);
  });

  it('has not come where something of it is there that cannot be seen', () => {
    const world = worldWith(200);
    world.set(200, { hidden: true });
    expect(isGroupGone(world, group)).toBe(false);
  });

  it('has come when its id is another process’s, which is left alone', () => {
    const world = worldWith();
    world.start(200, { group: 200, started: '9' });
    expect(isGroupGone(world, group)).toBe(true);
    killGroup(world, group);
    expect(world.log).toEqual([]);
  });

  it('has not come for others with the same id elsewhere: where nothing is told, absence alone proves it', () => {
    const world = worldWith(200);
    world.isLinux = false;
    expect(isGroupGone(world, { pid: 200 })).toBe(false);
    killGroup(world, { pid: 200 });
    expect(isGroupGone(world, { pid: 200 })).toBe(true);
  });
});
