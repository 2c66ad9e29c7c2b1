/**
 * A file that is removed or replaced while processes elect in it: no leader stays on the former
 * file.
 */

import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '@incumbent/sqlite';
import { until, type ScriptProcess } from '@incumbent/test-support';
import { beforeEach, describe, expect, it } from 'vitest';

import { stop } from './commands.ts';
import { CALL, textOf } from './rig.ts';
import { useScratchFile } from './scratch-file.ts';

const MEMBER = new URL('scripts/member.ts', import.meta.url);
const WAIT_MS = 20_000;
/** Longer than any wait: no test here relies on the end of this time. */
const LONG_TTL_MS = 30_000;
const SHORT_TTL_MS = 2_000;

const scratch = useScratchFile('replaced');
let file: string;
let members: ScriptProcess[];

beforeEach(() => {
  file = scratch().path;
  members = [];
});

/** Starts a member, and waits until it stands in the queue. */
async function enter(ttlMs: number = LONG_TTL_MS): Promise<ScriptProcess> {
  const member = await scratch().spawn(MEMBER, [`m${members.length}`, String(ttlMs)]);
  members.push(member);
  await allQueued();
  return member;
}

async function allQueued(): Promise<void> {
  await using store = await openSqlite({ file });
  const areQueued = async (): Promise<boolean> => (await store.list('elections/controller/candidates', CALL)).length === members.length;
  await until(areQueued, { what: 'all stand in the queue', withinMs: WAIT_MS });
}

/** Starts two members: one leads, and the other one waits. */
async function pair(ttlMs?: number): Promise<void> {
  const leader = await enter(ttlMs);
  await leader.waitFor('elected', { withinMs: WAIT_MS });
  await enter(ttlMs);
  expect(await validLeaders()).toEqual([leader]);
}

function count(member: ScriptProcess, name: string): number {
  return member.events.filter(({ event }) => event === name).length;
}

/** The members that emit within a second that they lead. */
async function validLeaders(): Promise<readonly ScriptProcess[]> {
  const before = members.map((member) => count(member, 'valid'));
  await sleep(1_000);
  return members.filter((member, index) => count(member, 'valid') > (before[index] ?? 0));
}

/**
 * One leads on the file that is there now, which says so itself; the former leader has ended
 * before.
 */
async function oneLeads(): Promise<void> {
  const [former] = members;
  await until(() => former !== undefined && count(former, 'ended') === 1, {
    what: 'the former leadership has ended',
    withinMs: WAIT_MS,
  });
  await until(() => members.some((member) => member.events.findLast(({ event }) => event !== 'valid')?.event === 'elected'), {
    what: 'somebody leads again',
    withinMs: WAIT_MS,
  });
  const leading = await validLeaders();
  expect(leading.length).toBe(1);
  await using store = await openSqlite({ file });
  const leader = await store.read('elections/controller/leader', CALL);
  expect(textOf(leader)).toContain(`"m${members.indexOf(leading[0] ?? expect.unreachable('no member leads'))}"`);
  await allQueued();
  expect(members.flatMap(({ output }) => output)).toEqual([]);
}

/** Changes files while all members are stopped. */
async function meanwhile(change: () => void): Promise<void> {
  await Promise.all(members.map(stop));
  change();
  for (const member of members) member.sigcont();
}

function remove(...ends: readonly string[]): void {
  for (const end of ends) rmSync(file + end);
}

describe('a file in which a process leads and another one waits', () => {
  it('is removed: both find themselves on one new file, and one of them leads', async () => {
    await pair();
    await meanwhile(() => remove('', '-wal', '-shm'));
    await oneLeads();
  });

  it('is replaced by a new one: the same', async () => {
    await pair();
    const other = join(scratch().folder, 'new.db');
    await (await openSqlite({ file: other })).close();
    await meanwhile(() => {
      remove('-wal', '-shm');
      renameSync(other, file);
    });
    await oneLeads();
  });

  it('is replaced by a copy of it that was made while the leader led: there is one leader all the time', async () => {
    await pair();
    const other = join(scratch().folder, 'new.db');
    await meanwhile(() => {
      for (const end of ['', '-wal']) copyFileSync(file + end, other + end);
    });
    await (await openSqlite({ file: other })).close();
    await meanwhile(() => {
      remove('-wal', '-shm');
      renameSync(other, file);
    });
    for (let second = 0; second < 3; second += 1) expect((await validLeaders()).length).toBe(1);
  });

  it('is removed and its log is not: no member leads until the log is removed, and all report what to do', async () => {
    await pair(SHORT_TTL_MS);
    rmSync(file);
    expect(await Promise.all(members.map(({ exited }) => exited))).toEqual([1, 1]);
    const words = `${file} was replaced, or removed, and the former file's log was left beside it. Stop all processes that use it`;
    for (const { output } of members) expect(output.join('\n')).toContain(words);
    expect(members.map((member) => count(member, 'elected'))).toEqual([1, 0]);
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    members = [];
    await (await enter()).waitFor('elected', { withinMs: WAIT_MS });
  });
});
