/**
 * Files and folders that a process may not write, or that several users share. Of the administrator
 * nothing is refused: the script becomes another user.
 */

import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { canBecomeOthers } from './commands.ts';

const SCRIPT = new URL('scripts/user.ts', import.meta.url);
const WAIT_MS = 60_000;
/** The user `nobody`. If the test does not run as root, it uses its own user. */
const USER = process.getuid?.() === 0 ? 65_534 : undefined;

let scratch: Scratch;
let folder: string;
let file: string;

beforeEach(async () => {
  scratch = await makeScratch('access');
  chmodSync(scratch.path, 0o755);
  folder = join(scratch.path, 'data');
  file = join(folder, 'state.db');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
});
afterEach(async () => {
  chmodSync(folder, 0o777);
  await scratch.remove();
});

async function made(): Promise<void> {
  await (await openSqlite({ file })).close();
  chmodSync(file, 0o666);
}

function start(user: number | undefined = USER): Promise<ScriptProcess> {
  return spawnScript(SCRIPT, { args: [file, user === undefined ? '' : String(user)] });
}

async function refusal(): Promise<Readonly<Record<string, unknown>>> {
  await using script = await start();
  const { fields } = await script.waitFor(({ event }) => event === 'failed' || event === 'holds', { withinMs: WAIT_MS });
  expect(await script.exited).toBe(0);
  return fields;
}

describe('a user', () => {
  it('who may write the file and its folder can open it, or make it', async () => {
    await using first = await start();
    await first.waitFor('holds', { withinMs: WAIT_MS });
    await using second = await start();
    await second.waitFor('holds', { withinMs: WAIT_MS });
  });

  it.each([
    ['who may only read the file', 0o444, 0o777],
    ['who may not even read the file', 0o000, 0o777],
    ['who may write the file and not its folder, where the log would be', 0o666, 0o555],
    ['who may not search the folder', 0o666, 0o666],
  ])('%s is refused at opening, with what is missing', async (_, fileMode, folderMode) => {
    await made();
    chmodSync(file, fileMode);
    chmodSync(folder, folderMode);
    const fields = await refusal();
    expect(fields).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    expect(fields['message']).toContain(`${file} cannot be written: the file and its folder must both be writable`);
    chmodSync(folder, 0o777);
    expect([existsSync(`${file}-wal`), existsSync(`${file}-shm`)]).toEqual([false, false]);
  });

  it('who may not create the file in its folder is refused at opening', async () => {
    chmodSync(folder, 0o555);
    expect(await refusal()).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    expect(existsSync(file)).toBe(false);
  });

  it('who may no longer search the folder of an open store is refused, with what is missing', async () => {
    await using script = await start();
    await script.waitFor('counted', { withinMs: WAIT_MS });
    chmodSync(folder, 0o666);
    const { fields } = await script.waitFor('failed', { withinMs: WAIT_MS });
    expect(fields).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
    expect(fields['message']).toContain(`${file} cannot be written: the file and its folder must both be writable`);
  });

  it('without access to the folder is refused at opening', async () => {
    chmodSync(scratch.path, 0o600);
    const fields = await refusal();
    chmodSync(scratch.path, 0o755);
    expect(fields).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });

  it('who may write the file but not the log that another user left is refused, and the log is unchanged', async () => {
    await made();
    writeFileSync(`${file}-wal`, '');
    chmodSync(`${file}-wal`, 0o400);
    const fields = await refusal();
    expect(fields).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    expect(fields['message']).toContain(`${file}: it cannot be opened`);
    expect(existsSync(`${file}-wal`)).toBe(true);
  });
});

describe.runIf(canBecomeOthers())('users who share a file', () => {
  beforeEach(made);

  it('do not consider each other dead, although neither may signal the other', async () => {
    await using first = await start(65_534);
    await first.waitFor('holds', { withinMs: WAIT_MS });
    await using second = await start(65_533);
    await second.waitFor('holds', { withinMs: WAIT_MS });
    const counts = (script: ScriptProcess): readonly unknown[] =>
      script.events.filter(({ event }) => event === 'counted').map(({ fields }) => fields['count']);
    const seen = counts(second).length;
    await until(() => counts(second).length > seen + 10 && counts(first).includes(2), { what: 'ten polls', withinMs: WAIT_MS });
    expect([new Set(counts(second)), counts(first).at(-1)]).toEqual([new Set([2]), 2]);
  });

  it('see each other die', async () => {
    await using first = await start(65_534);
    await first.waitFor('holds', { withinMs: WAIT_MS });
    await using second = await start(65_533);
    await second.waitFor(({ fields }) => fields['count'] === 2, { withinMs: WAIT_MS });
    first.sigkill();
    await first.exited;
    await second.waitFor(({ fields }) => fields['count'] === 1, { withinMs: WAIT_MS });
  });
});
