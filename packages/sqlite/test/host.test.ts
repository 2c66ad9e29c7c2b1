import type * as fileSystem from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { clockOffsetUs, readHost } from '../src/host/host.ts';

/** The files and links that are there; undefined: the system's own. */
let files: Readonly<Record<string, string>> | undefined;

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof fileSystem>();
  const found = (path: string, there: Readonly<Record<string, string>>): string => {
    const text = there[path];
    if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
    return text;
  };
  return {
    ...fs,
    readFileSync: (path: string, encoding: 'latin1') => (files === undefined ? fs.readFileSync(path, encoding) : found(path, files)),
    readlinkSync: (path: string) => (files === undefined ? fs.readlinkSync(path) : found(path, files)),
  };
});

describe('how far the clock of a time namespace was moved', () => {
  it.each([
    ['not, without such namespaces', '', 0],
    ['not, in the first one', 'monotonic           0         0\nboottime            0         0\n', 0],
    ['ahead', 'monotonic           1000         0\nboottime            5000         0\n', 1_000_000_000],
    ['ahead by a fraction, rounded down', 'monotonic           1         2999\nboottime            0         0\n', 1_000_002],
    ['back', 'monotonic           -5         0\nboottime            0         0\n', -5_000_000],
    // The kernel counts nanoseconds forwards from the second below.
    ['back by a fraction', 'monotonic           -5         500000000\nboottime            0         0\n', -4_500_000],
    ['ahead by years', 'monotonic           315360000         0\n', 315_360_000_000_000],
    ['by another clock alone, which does not count', 'boottime            1000         0\n', 0],
    ['after another clock', 'boottime            1000         0\nmonotonic           7         0\n', 7_000_000],
    ['in an unknown format', 'monotonic ahead\n', 0],
  ])('%s', (_, offsets, us) => {
    expect(clockOffsetUs(offsets)).toBe(us);
  });
});

describe('this host', () => {
  beforeEach(() => {
    files = undefined;
  });

  it('is the same whenever it is read, on a clock that goes on', () => {
    const [first, second] = [readHost(), readHost()];
    const { nowUs: _, ...identity } = second;
    expect(first).toMatchObject(identity);
    const moments = [first.nowUs(), second.nowUs(), first.nowUs()];
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
    expect(Number.isSafeInteger(first.nowUs())).toBe(true);
  });

  it('reads the monotonic clock in microseconds, without the offset of its time namespace', () => {
    files = { '/proc/self/timens_offsets': 'monotonic           1000         0\n' };
    const before = Number(process.hrtime.bigint() / 1_000n);
    const nowUs = readHost().nowUs() + 1_000_000_000;
    expect(nowUs).toBeGreaterThanOrEqual(before);
    expect(nowUs).toBeLessThanOrEqual(Number(process.hrtime.bigint() / 1_000n));
  });

  it('has its name from the first file that holds one, or none', () => {
    const [etc, dbus] = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
    files = { [etc]: 'abc\n', [dbus]: 'def\n' };
    expect(readHost().machine).toBe('abc');
    files = { [etc]: '\n', [dbus]: 'def\n' };
    expect(readHost().machine).toBe('def');
    files = { [dbus]: 'def\n' };
    expect(readHost().machine).toBe('def');
    // The host name is that of a container, and changes whenever the container is created again.
    files = {};
    expect(readHost().machine).toBe('');
  });

  it('has a boot without a name where the system gives it none', () => {
    files = { '/proc/sys/kernel/random/boot_id': 'b8c7\n' };
    expect(readHost().boot).toBe('b8c7');
    files = {};
    expect(readHost().boot).toBe('');
  });

  it('sees processes die within one pid namespace and one time namespace; without the former, not at all', () => {
    const status = { '/proc/self/status': `Name:\tnode\nNSpid:\t${process.pid}\n` };
    files = { ...status, '/proc/self/ns/pid': 'pid:[1]', '/proc/self/ns/time': 'time:[2]' };
    const here = readHost().space;
    expect(here).toEqual(expect.any(String));
    files = { ...status, '/proc/self/ns/pid': 'pid:[3]', '/proc/self/ns/time': 'time:[2]' };
    expect(readHost().space).not.toBe(here);
    files = { ...status, '/proc/self/ns/pid': 'pid:[1]', '/proc/self/ns/time': 'time:[4]' };
    expect(readHost().space).not.toBe(here);
    files = { ...status, '/proc/self/ns/pid': 'pid:[1]' };
    expect(readHost().space).toEqual(expect.any(String));
    files = { ...status, '/proc/self/ns/time': 'time:[2]' };
    expect(readHost()).not.toHaveProperty('space');
  });

  it.each([
    ['shows it under another id', `NSpid:\t${process.pid + 1}\n`],
    ['shows it under several, from outside its namespace', `NSpid:\t${process.pid + 1}\t${process.pid}\n`],
    ['does not show its id', 'Name:\tnode\n'],
    ['shows nothing', ''],
  ])('does not see processes die where what is mounted at /proc %s', (_, status) => {
    const links = { '/proc/self/ns/pid': 'pid:[1]', '/proc/self/ns/time': 'time:[2]' };
    files = { ...links, '/proc/self/status': status };
    expect(readHost()).not.toHaveProperty('space');
    files = { ...links, '/proc/self/status': `NSpid:\t${process.pid}\n` };
    expect(readHost()).toHaveProperty('space');
  });
});
