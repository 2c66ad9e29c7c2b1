/** What keeps a process with a store alive. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { CALL } from './rig.ts';

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);
const WAIT_MS = 15_000;

let scratch: Scratch;
let file: string;
beforeEach(async () => {
  scratch = await makeScratch('lifetime');
  file = join(scratch.path, 'state.db');
});
afterEach(() => scratch.remove());

function start(mode: string): Promise<ScriptProcess> {
  return spawnScript(SCRIPT, { args: [file, mode] });
}

/** It ends by itself, well, and without a word. */
async function endsByItself(script: ScriptProcess): Promise<void> {
  await script.waitFor('done', { withinMs: WAIT_MS });
  const ended = script.exited.then((status) => ({ status }));
  expect(await until(() => ended, { what: 'its end', withinMs: WAIT_MS })).toEqual({ status: 0 });
  expect(script.events.filter(({ event }) => ['unhandled', 'warning', 'threw'].includes(event))).toEqual([]);
  expect(script.output).toEqual([]);
}

describe('a process', () => {
  it.each(['nothing', 'watches', 'an idle member', 'an idle observer', 'an opened group'])(
    'ends by itself though its store is open, with %s',
    async (mode) => {
      await using script = await start(mode);
      await endsByItself(script);
      if (mode === 'watches') expect(script.events.filter(({ event }) => event === 'state').length).toBe(2);
    },
  );

  it('is shown the first state of a watch although nothing else wakes it up', async () => {
    await using script = await start('a lone watch');
    await script.waitFor('begins', { withinMs: WAIT_MS });
    // Without a reason to go on, the event loop would sleep until a timer that is due much later.
    await script.waitFor('state', { withinMs: 6_000 });
    await endsByItself(script);
  });

  it('lives as long as it campaigns, and no longer', async () => {
    await using leader = await start('a leadership');
    await leader.waitFor('leads', { withinMs: WAIT_MS });
    await using candidate = await start('a pending campaign');
    await candidate.waitFor('done', { withinMs: WAIT_MS });
    await using store = await openSqlite({ file });
    const queued = async (): Promise<boolean> => (await store.list('elections/controller/candidates', CALL)).length === 2;
    await until(queued, { what: 'it waits', withinMs: WAIT_MS });
    // It has had nothing to do since then but to wait: longer than any timer of a store that is
    // left alone.
    await new Promise((resolve) => void setTimeout(resolve, 1_000));
    expect([candidate.running, leader.running]).toEqual([true, true]);
    leader.sigterm();
    await candidate.waitFor('elected', { withinMs: WAIT_MS });
    await endsByItself(candidate);
    await endsByItself(leader);
  });

  it('lives until a call has ended, and no longer', async () => {
    await (await openSqlite({ file })).close();
    const other = new DatabaseSync(file);
    await using script = await start('a call');
    // Opening writes, too.
    await script.waitFor('open', { withinMs: WAIT_MS });
    other.exec('BEGIN IMMEDIATE');
    writeFileSync(`${file}.locked`, '');
    await endsByItself(script);
    const failed = script.events.find(({ event }) => event === 'failed') ?? expect.unreachable('the call was cut short');
    expect(failed.fields['error']).toContain('was locked by other processes');
    other.close();
  });

  it('keeps nothing of a closed store, whatever was under way: no timer, no watch of a file, no log', async () => {
    await using script = await start('a closed store');
    const done = await script.waitFor('done', { withinMs: WAIT_MS });
    expect(done.fields['left']).toEqual([]);
    await script.exited;
    expect(script.events.filter(({ event }) => ['unhandled', 'warning'].includes(event))).toEqual([]);
    expect(script.events.filter(({ event }) => event === 'threw').map(({ fields }) => fields['error'])).toEqual([
      'StoreError: the sqlite store was closed',
      'StoreError: the sqlite store was closed',
    ]);
    expect([existsSync(file), existsSync(`${file}-wal`), existsSync(`${file}-shm`)]).toEqual([true, false, false]);
  });

  it('has a timer and a watch of a file while a store is open, which the same check finds', async () => {
    await using script = await start('watches');
    const done = await script.waitFor('done', { withinMs: WAIT_MS });
    expect(done.fields['left']).toEqual(expect.arrayContaining(['Timeout', 'FSEVENTWRAP']));
    await script.exited;
  });
});
