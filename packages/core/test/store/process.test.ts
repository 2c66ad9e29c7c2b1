import { describe, expect, it } from 'vitest';

import { hasEnded, parseStat, processSpace } from '../../src/store/process.ts';

/**
 * As the kernel writes it: the process group is the 5th field, the number of threads the 20th, the
 * start time the 22nd.
 */
function statOf(name: string, state: string, started: string, threads = 1): string {
  const between = Array.from({ length: 18 }, (_, index) => String(index === 16 ? threads : index + 100)).join(' ');
  return `4711 (${name}) ${state} ${between} ${started} 99 98 97\n`;
}

describe('what the kernel reports about a process', () => {
  it.each([
    ['an ordinary name', 'node'],
    ['no name', ''],
    ['a name with brackets and a state in it', 'a) R (b'],
    ['a name that ends in a bracket', 'a))'],
    ['a name with spaces', 'node server 7 8 9'],
    ['a name with line breaks', 'a\nb) Z 1\n'],
    ['a name like a whole line', statOf('x', 'Z', '1')],
  ])('is read past %s', (_, name) => {
    expect(parseStat(statOf(name, 'S', '8675309'))).toEqual({ state: 'S', group: 101, threads: 1, started: '8675309' });
  });

  it('is unknown where the line is cut short, or none', () => {
    expect(parseStat('')).toBeUndefined();
    expect(parseStat('4711 (node) S 1 2 3')).toBeUndefined();
  });
});

describe('the end of a process', () => {
  it.each(['Z', 'X'])('is the state %s', (state) => {
    expect(hasEnded(parseStat(statOf('node', state, '1')) ?? expect.unreachable('it is a text of the kernel'))).toBe(true);
  });

  it.each(['R', 'S', 'D', 'T', 't', 'I'])('has not come in the state %s', (state) => {
    expect(hasEnded({ state, group: 1, threads: 1, started: '1' })).toBe(false);
  });

  it('has not come while another of its threads goes on, though the first one has ended', () => {
    expect(hasEnded({ state: 'Z', group: 1, threads: 2, started: '1' })).toBe(false);
    expect(hasEnded({ state: 'X', group: 1, threads: 0, started: '1' })).toBe(true);
  });
});

interface Proc {
  readonly pid: number;
  readonly status: string;
  readonly pids: string | undefined;
  readonly times: string | undefined;
}

describe('the namespaces in which a process id is valid', () => {
  const inside: Proc = { status: 'Name:\tnode\nNSpid:\t4711\nVmPeak: 1 kB\n', pids: 'pid:[1]', times: 'time:[2]', pid: 4711 };
  function spaceOf({ status, pids, times, pid }: Proc): string | undefined {
    const texts = new Map([['/proc/self/status', status]]);
    const links = new Map([
      ['/proc/self/ns/pid', pids],
      ['/proc/self/ns/time', times],
    ]);
    return processSpace({ pid, read: (path) => texts.get(path), readLink: (path) => links.get(path) });
  }

  it('are those of process ids and of start times', () => {
    expect(spaceOf(inside)).toBe('pid:[1] time:[2]');
    expect(spaceOf({ ...inside, times: undefined })).toBe('pid:[1] ');
  });

  it.each([
    ['there is no such file system', { ...inside, status: '', pids: undefined }],
    ['it shows another process in this own place', { ...inside, pid: 12 }],
    ['it is the view from outside', { ...inside, status: 'NSpid:\t4711\t12\n', pid: 12 }],
    ['its kernel tells no ids of namespaces', { ...inside, status: 'Name:\tnode\n' }],
  ])('are unknown where %s', (_, other) => {
    expect(spaceOf(other)).toBeUndefined();
  });
});
