/** A program that cannot be started for a while, because the process may open no more files. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { makeScratch, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DEADLINE_MS, programThat, says, started, startRun } from '../support/command.ts';

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

let scratch: Scratch;
let store: string;
beforeEach(async () => {
  scratch = await makeScratch('not-started');
  store = `sqlite:${join(scratch.path, 'state.db')}`;
});
afterEach(async () => scratch.remove());

/** Starting a program needs further files. Those that are open stay open. */
function limitFiles({ pid }: ScriptProcess, most: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${most}:4096`], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
}

/** Starts `run` behind a process that leads, and lets it lead when it can start no program. */
async function leadsWithoutFiles(args: readonly string[]): Promise<ScriptProcess> {
  await using first = await startRun(store, 'a', programThat());
  await started(first);
  const run = await startRun(store, 'b', [...args, '-v', ...programThat()]);
  // It has its lease then, and its reaper.
  await says(run, 'waiting behind another candidate');
  await says(run, 'the reaper is there');
  limitFiles(run, 3);
  first.sigterm();
  await first.exited;
  return run;
}

describe.runIf(hasPrlimit)('a program that cannot be started for want of files', { timeout: 180_000 }, () => {
  it('ends run with 125, and the error says what is missing', async () => {
    await using run = await leadsWithoutFiles([]);
    expect(await run.exited).toBe(125);
    await says(run, 'cannot be started: spawn');
    await says(run, 'EMFILE');
    await says(run, 'ulimit -n');
  });

  it('is started in a later term with --restart, when there are files again', async () => {
    await using run = await leadsWithoutFiles(['--restart']);
    await says(run, 'ulimit -n');
    await says(run, 'waits 1s, then campaigns again');
    limitFiles(run, 4096);
    const { fields } = await run.waitFor('started', { withinMs: DEADLINE_MS });
    expect(Number(fields['term'])).toBeGreaterThan(2);
    run.sigterm();
    expect(await run.exited).toBe(0);
  });

  it('is not started any more after SIGTERM', async () => {
    await using run = await leadsWithoutFiles(['--restart']);
    await says(run, 'waits 1s, then campaigns again');
    run.sigterm();
    expect(await run.exited).toBe(125);
    expect(run.events).toEqual([]);
  });
});
