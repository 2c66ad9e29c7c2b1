import { expect, test } from 'vitest';
import { readArguments } from '../demo/arguments.ts';

test("without arguments, the store is the demo's own, and there is no page", () => {
  expect(readArguments([], 'linux')).toEqual({ url: undefined, serve: false, short: false });
});

test('--store takes a URL, as a word of its own or after an equals sign', () => {
  expect(readArguments(['--store', 'etcd://h:1/x'], 'darwin')).toEqual({ url: 'etcd://h:1/x', serve: false, short: false });
  expect(readArguments(['--store=etcd://h:1/x', '--serve'], 'linux')).toEqual({ url: 'etcd://h:1/x', serve: true, short: false });
});

test('--short is passed on', () => {
  expect(readArguments(['--short'], 'linux')).toEqual({ url: undefined, serve: false, short: true });
});

test.each([['--help'], ['-h'], ['--store', 'etcd://h:1/x', '--help']])('help is given for %s %s %s', (...args) => {
  expect(readArguments(args, 'linux')).toEqual({ help: true });
});

test.each([
  [['--store'], /--store <value>' argument missing/],
  [['--store', ''], /--store is empty/],
  [['--store', 'memory:'], /memory store lives in one process/],
  [['--bogus'], /'--bogus'/],
  [['etcd://h:1/x'], /'etcd:\/\/h:1\/x'/],
])('%j is a problem, in words', (args, problem) => {
  expect(readArguments(args, 'linux')).toEqual({ problem: expect.stringMatching(problem) });
});

test('a system without SIGSTOP is told', () => {
  expect(readArguments([], 'win32')).toEqual({ problem: expect.stringMatching(/SIGSTOP/) });
});
