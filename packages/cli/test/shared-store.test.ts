/** The store of the commands whose member acts for another process: `run` and `serve`. */

import { StoreError } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type CommandResult, TestConsole } from './support/test-console.ts';

let console: TestConsole;
let opened: string[];
beforeEach(() => {
  console = new TestConsole();
  opened = [];
});
afterEach(async () => console[Symbol.asyncDispose]());

const COMMANDS = [
  ['run', ['run', '--election', 'db', '--store-wait', '0'], ['--', process.execPath], 125],
  ['serve', ['serve', '--listen', '127.0.0.1:0', '--store-wait', '0'], [], 2],
] as const;

describe.each(COMMANDS)('%s', (_, before, after, usage) => {
  async function openedWith(store: string): Promise<CommandResult> {
    return console.run([...before, '--store', store, ...after], {
      open: (url) => {
        opened.push(url);
        throw new StoreError('UNREACHABLE', 'notSent', 'no store');
      },
    });
  }

  it.each([
    ['sqlite:./state.db', 'sqlite:./state.db?endsWithProcess=false'],
    ['SQLITE:./state.db?namespace=a', 'SQLITE:./state.db?namespace=a&endsWithProcess=false'],
    ['sqlite:./state.db?endsWithProcess=true', 'sqlite:./state.db?endsWithProcess=true'],
    ['etcd://127.0.0.1/sqlite:', 'etcd://127.0.0.1/sqlite:'],
  ])('with %s does not let SQLite end the lease of a process that has died', async (store, expected) => {
    await openedWith(store);
    expect(opened).toEqual([expected]);
  });

  it.each(['memory:', 'Memory:a'])('refuses a store in memory: %s', async (store) => {
    expect(await openedWith(store)).toMatchObject({ code: usage, err: expect.stringContaining('belongs to this process alone') });
    expect(opened).toEqual([]);
  });
});
