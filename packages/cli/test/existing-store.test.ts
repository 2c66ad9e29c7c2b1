import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '@incumbent/core';
import { makeScratch } from '@incumbent/test-support';
import { openStore } from 'incumbent';
import { describe, expect, it } from 'vitest';

import { TestConsole } from './support/test-console.ts';

/** The commands that take part in no election. */
const COMMANDS: readonly (readonly string[])[] = [
  ['leader', 'db'],
  ['watch', 'db'],
  ['candidates', 'db'],
  ['status'],
  ['doctor'],
  ['groups'],
  ['resign', 'db'],
  ['handover', 'db', '--to', 'web-2'],
  ['lower-term-unsafely', 'db', '--from', '3', '--to', '2'],
  ['ui', '--listen', '127.0.0.1:0'],
];

const missing = 'postgres: the schema incumbent is missing: create it with …, or open the store as a role that may create it';

/** Runs a command on a store that cannot be opened. Returns the URL that it has opened, too. */
async function runOn(
  url: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly err: string; readonly opened: string }> {
  await using console = new TestConsole();
  let opened = '';
  const open = async (given: string): Promise<never> => {
    opened = given;
    throw new StoreError('UNSUPPORTED', 'refused', missing);
  };
  const { code, err } = await console.run(args, { env: { INCUMBENT_STORE: url }, open });
  return { code, err, opened };
}

describe('on a PostgreSQL database', () => {
  it.each(COMMANDS)('%s does not create the schema', async (...args) => {
    const { code, err, opened } = await runOn('postgres://bob@host/other?namespace=a', args);
    expect([code, opened]).toEqual([3, 'postgres://bob@host/other?namespace=a&migrate=false']);
    expect(err).toContain('the schema incumbent is missing: create it with …, or start a member: this command does not create it');
    expect(err).toContain('(postgres://host/other)');
  });

  it.each([
    ['postgresql://bob@host/db', 'postgresql://bob@host/db?migrate=false'],
    ['postgres://bob@host/db?migrate=true', 'postgres://bob@host/db?migrate=true'],
    ['etcd://host/db', 'etcd://host/db'],
  ])('the URL %s is opened as %s', async (url, opened) => {
    expect(await runOn(url, ['status'])).toMatchObject({ opened });
  });
});

it.each(COMMANDS)('%s does not create the file of a SQLite store', async (...args) => {
  const scratch = await makeScratch('cli');
  await using console = new TestConsole();
  const file = join(scratch.path, 'no such.db');
  const url = `sqlite:${file.replace(' ', '%20')}`;
  const { code, err } = await console.run(args, { env: { INCUMBENT_STORE: `${url}?namespace=a` }, open: openStore });
  expect([code, err]).toEqual([3, `incumbent: UNREACHABLE: there is no such file, and this command does not create it (${url})\n`]);
  expect(existsSync(file)).toBe(false);
  await scratch.remove();
});
