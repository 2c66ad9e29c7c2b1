/** What the commands that wait for their store say meanwhile. */

import { StoreError } from '@incumbent/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Printer, runCli } from '../src/index.ts';
import { TestConsole } from './support/test-console.ts';

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await console[Symbol.asyncDispose]();
});

it.each([
  ['run', ['run', '--election', 'db', '--store', 'etcd://host', '--', process.execPath]],
  ['serve', ['serve', '--listen', '127.0.0.1:0', '--store', 'etcd://host']],
  ['ui', ['ui', '--listen', '127.0.0.1:0', '--store', 'etcd://host']],
])('%s says at once that it waits for its store, and then at most once in 5 s', async (_, args) => {
  const lines: string[] = [];
  const err = new Printer({ write: (text) => lines.push(text) > 0, on: () => {} }, {});
  const away = new StoreError('UNREACHABLE', 'notSent', 'no server answers');
  let said: readonly number[] = [];
  const code = await runCli(args, {
    ...console.context(),
    err,
    openStore: async (_url, { onRetry } = {}) => {
      said = [0, 250, 4_700, 100, 4_900, 100].map((pauseMs) => {
        vi.advanceTimersByTime(pauseMs);
        onRetry?.(away);
        return lines.length;
      });
      throw away;
    },
  });
  expect(said).toEqual([1, 1, 1, 2, 2, 3]);
  expect(lines[0]).toContain('UNREACHABLE: no server answers');
  expect(code).toBeGreaterThan(0);
});
