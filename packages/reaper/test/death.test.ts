import { describe, expect, it } from 'vitest';

import { isDead, isGroupGone, killGroup } from '../src/death.ts';
import { PARENT, FakeMachine } from './fake-machine.ts';

const life = { pid: PARENT, started: '1' };

describe('the death of a process', () => {
  it('is proven when no process has its id', () => {
    const machine = new FakeMachine();
    expect(isDead(machine, life)).toBe(false);
    machine.table.delete(PARENT);
    expect(isDead(machine, life)).toBe(true);
  });

  it.each(['Z', 'X'])('is proven when it is a zombie (%s)', (state) => {
    const machine = new FakeMachine();
    machine.set(PARENT, { state });
    expect(isDead(machine, life)).toBe(true);
  });

  it('is not proven by the end of its first thread while another thread runs', () => {
    const machine = new FakeMachine();
    machine.set(PARENT, { state: 'Z', threads: 3 });
    expect(isDead(machine, life)).toBe(false);
    machine.set(PARENT, { threads: 1 });
    expect(isDead(machine, life)).toBe(true);
  });

  it('is proven when a process that started at another time has its id', () => {
    const machine = new FakeMachine();
    machine.start(PARENT, { started: '2' });
    expect(isDead(machine, life)).toBe(true);
  });

  it.each(['R', 'S', 'D', 'T', 't', 'I'])('is not proven by the state %s', (state) => {
    const machine = new FakeMachine();
    machine.set(PARENT, { state });
    expect(isDead(machine, life)).toBe(false);
  });

  it('is not proven by a state that cannot be read', () => {
    const machine = new FakeMachine();
    machine.set(PARENT, { hidden: true });
    expect(isDead(machine, life)).toBe(false);
  });

  it('is proven only by absence on systems that report neither states nor start times', () => {
    const machine = new FakeMachine();
    machine.isLinux = false;
    machine.set(PARENT, { state: 'Z' });
    expect(isDead(machine, { pid: PARENT })).toBe(false);
    machine.table.delete(PARENT);
    expect(isDead(machine, { pid: PARENT })).toBe(true);
  });
});

describe('the end of a process group', () => {
  const group = { pid: 200, started: '7' };

  function machineWith(...pids: readonly number[]): FakeMachine {
    const machine = new FakeMachine();
    for (const pid of pids) machine.start(pid, { group: 200, started: '7' });
    return machine;
  }

  it('is proven when none of its processes is left', () => {
    const machine = machineWith(200, 201);
    expect(isGroupGone(machine, group)).toBe(false);
    machine.table.delete(200);
    expect(isGroupGone(machine, group)).toBe(false);
    machine.table.delete(201);
    expect(isGroupGone(machine, group)).toBe(true);
  });

  it('is proven when only zombies are left', () => {
    const machine = machineWith(200, 201);
    machine.set(200, { state: 'Z' });
    expect(isGroupGone(machine, group)).toBe(false);
    machine.set(201, { state: 'Z' });
    expect(isGroupGone(machine, group)).toBe(true);
  });

  it('is not proven while a hidden process of it exists', () => {
    const machine = machineWith(200);
    machine.set(200, { hidden: true });
    expect(isGroupGone(machine, group)).toBe(false);
  });

  it('is proven when another process has its id, and that process is not killed', () => {
    const machine = machineWith();
    machine.start(200, { group: 200, started: '9' });
    expect(isGroupGone(machine, group)).toBe(true);
    expect(killGroup(machine, group)).toBe(false);
    expect(machine.log).toEqual([]);
  });

  it('is proven only by absence on systems without /proc', () => {
    const machine = machineWith(200);
    machine.isLinux = false;
    expect(isGroupGone(machine, { pid: 200 })).toBe(false);
    expect(killGroup(machine, { pid: 200 })).toBe(true);
    expect(isGroupGone(machine, { pid: 200 })).toBe(true);
  });
});
