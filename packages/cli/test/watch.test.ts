import { StoreError } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Printer, runCli } from '../src/index.ts';
import { TestConsole } from './support/test-console.ts';

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
});
afterEach(async () => console[Symbol.asyncDispose]());

function lines(out: string): readonly string[] {
  return out.trimEnd().split('\n');
}

/** A watch that fails before it shows a state. */
async function* failing(failure: Error): AsyncGenerator<undefined> {
  await new Promise(setImmediate);
  throw failure;
}

describe('watch', () => {
  it.each([false, true])('prints why the leader changed (JSON: %s)', async (json) => {
    const first = await console.leads('web-1');
    let [text, close] = ['', (_: Error): void => {}];
    const stream = {
      write: (part: string): boolean => {
        text += part;
        return true;
      },
      on: (_: 'error', listener: typeof close): void => {
        close = listener;
      },
    };
    const shown = async (part: string): Promise<void> => {
      while (!text.includes(part)) await new Promise(setImmediate);
    };
    const watching = runCli(['watch', 'db', ...(json ? ['--json'] : [])], { ...console.context(), out: new Printer(stream, {}) });
    await shown('web-1');
    await first.resign();
    await shown('resigned');
    await console.leads('web-2', 'db', 7);
    await shown('web-2');
    close(Object.assign(new Error('nobody reads'), { code: 'EPIPE' }));
    expect(await watching).toBe(0);
    const last = lines(text).at(-1) ?? '';
    if (json) {
      const previous = { term: '1', memberId: 'web-1', reason: 'resigned', vacantForMs: expect.any(Number) };
      expect(JSON.parse(last)).toMatchObject({ state: 'leader', leader: { memberId: 'web-2' }, previous });
      const starts = lines(text).map((line) => line.includes('"watchStarted":true'));
      expect(starts).toEqual([true, ...starts.slice(1).map(() => false)]);
    } else expect(last).toMatch(/ {2}leader {3}web-2 {2}term 2 {2}\(term 1 of web-1: resigned, vacant for [\d.]+ s\) {2}7$/);
  });

  it.each([
    ['cannot be reached', 'UNREACHABLE', [0, 1, '']],
    ['refuses to read', 'PERMISSION_DENIED', [3, 0, 'incumbent: PERMISSION_DENIED: the store says no\n']],
  ] as const)('of a store that %s from the start: %s', async (_what, code, expected) => {
    const store = await openMemory(`memory:${console.name}`);
    const error = new StoreError(code, 'refused', 'the store says no');
    vi.spyOn(store, 'read').mockRejectedValue(error);
    vi.spyOn(store, 'watch').mockImplementation(() => failing(error));
    const { code: exitCode, out, err } = await console.run(['watch', 'db'], { open: () => Promise.resolve(store), maxLines: 1 });
    expect([exitCode, out.split(' unknown  the store says no\n').length - 1, err]).toEqual(expected);
  });
});
