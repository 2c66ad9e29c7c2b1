import type * as fileSystem from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { hasDied, ownIdentity } from '../src/host/process-identity.ts';

/**
 * What is in the place of every `/proc/<pid>/stat`; null: it cannot be read; undefined: the
 * system's own.
 */
let stat: string | null | undefined;

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof fileSystem>();
  return {
    ...fs,
    readFileSync: (path: string, encoding: 'latin1') => {
      if (stat === undefined || !/^\/proc\/\d+\/stat$/.test(path)) return fs.readFileSync(path, encoding);
      if (stat === null) throw Object.assign(new Error(`no ${path}`), { code: 'EACCES' });
      return stat;
    },
  };
});

/** As the kernel writes it: the number of threads is the 20th field, the start time the 22nd. */
function statOf(name: string, state: string, started: string, threads = 1): string {
  const between = Array.from({ length: 18 }, (_, index) => String(index === 16 ? threads : index)).join(' ');
  return `4711 (${name}) ${state} ${between} ${started} 99 98 97\n`;
}

const PID = 4711;

beforeEach(() => {
  stat = undefined;
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('a process', () => {
  function signalling(answer: true | string): void {
    vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      expect([pid, signal]).toEqual([PID, 0]);
      if (answer !== true) throw Object.assign(new Error(answer), { code: answer });
      return true;
    });
  }

  it('is not dead if it is this one, and dead if its start time differs', () => {
    const own = ownIdentity() ?? expect.unreachable('the system reports no start times');
    expect(own).toEqual({ pid: process.pid, started: expect.stringMatching(/^\d+$/) });
    expect(hasDied(own)).toBe(false);
    expect(hasDied({ ...own, started: `${own.started}0` })).toBe(true);
  });

  it('has died if no process has its id', () => {
    signalling('ESRCH');
    // Of another one that came meanwhile, perhaps.
    stat = statOf('node', 'S', '100');
    expect(hasDied({ pid: PID, started: '100' })).toBe(true);
  });

  it.each([
    ['sleeping', 'S', false],
    ['running', 'R', false],
    ['waiting for a disk', 'D', false],
    ['stopped', 'T', false],
    ['traced', 't', false],
    ['idle', 'I', false],
    ['a zombie', 'Z', true],
    ['dead', 'X', true],
  ])('that is %s', (_, state, over) => {
    signalling(true);
    stat = statOf('node', state, '100');
    expect(hasDied({ pid: PID, started: '100' })).toBe(over);
  });

  it('has not died if it is a zombie with a running thread', () => {
    signalling(true);
    stat = statOf('node', 'Z', '100', 2);
    expect(hasDied({ pid: PID, started: '100' })).toBe(false);
  });

  it('has died if another process has its id', () => {
    signalling(true);
    stat = statOf('node', 'S', '101');
    expect(hasDied({ pid: PID, started: '100' })).toBe(true);
  });

  it('has not died if it belongs to another user, whether its state can be read or not', () => {
    signalling('EPERM');
    stat = statOf('node', 'S', '100');
    expect(hasDied({ pid: PID, started: '100' })).toBe(false);
    stat = null;
    expect(hasDied({ pid: PID, started: '100' })).toBe(false);
  });

  it('has died if it is a zombie of another user', () => {
    signalling('EPERM');
    stat = statOf('node', 'Z', '100');
    expect(hasDied({ pid: PID, started: '100' })).toBe(true);
  });

  it('has not died if its state cannot be read or parsed', () => {
    signalling(true);
    stat = null;
    expect(hasDied({ pid: PID, started: '100' })).toBe(false);
    stat = 'nonsense';
    expect(hasDied({ pid: PID, started: '100' })).toBe(false);
  });

  it('has no identity where the system reports no start times', () => {
    stat = null;
    expect(ownIdentity()).toBeUndefined();
  });
});
