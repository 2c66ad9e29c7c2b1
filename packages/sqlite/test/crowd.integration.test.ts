/** Many processes on one file, and many of them dying. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { until, type ScriptProcess } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { CALL, textOf } from './rig.ts';
import { useScratchFile } from './scratch-file.ts';

const OPENER = new URL('scripts/opener.ts', import.meta.url);
const WRITER = new URL('scripts/writer.ts', import.meta.url);
/** How far the many openers, and the few writers, give way to other processes (`nice`). */
const [OPENERS_NICE, WRITERS_NICE] = [19, 10];
const WAIT_MS = 120_000;
const LIMIT_MS = 180_000;

const scratch = useScratchFile('crowd');

/** All values of the first column. */
function ask(sql: string): readonly unknown[] {
  const database = new DatabaseSync(scratch().path);
  const rows = database.prepare(sql).all();
  database.close();
  return rows.map((row) => Object.values(row)[0]);
}

/** What scripts complain of. */
function complaints(): readonly unknown[] {
  return scratch().processes.flatMap(({ events, output }) => [
    ...events.filter(({ event }) => event === 'failed').map(({ fields }) => fields['error']),
    ...output,
  ]);
}

it(
  'fifty processes open one file that is not there yet, at one moment: all can, and there is one schema',
  { timeout: LIMIT_MS },
  async () => {
    const file = scratch();
    const scripts = file.processes;
    const word = join(file.folder, 'begin');
    await Promise.all(Array.from({ length: 50 }, () => file.spawn(OPENER, [word], OPENERS_NICE)));
    await Promise.all(scripts.map((script) => script.waitFor('ready', { withinMs: WAIT_MS })));
    expect(existsSync(file.path)).toBe(false);
    writeFileSync(word, '');
    expect(await Promise.all(scripts.map(({ exited }) => exited))).toEqual(Array.from(scripts, () => 0));
    expect(complaints()).toEqual([]);
    expect(scripts.filter(({ events }) => events.some(({ event }) => event === 'opened')).length).toBe(50);
    expect(ask(`SELECT key FROM keys WHERE key LIKE 'incumbent/opened/%'`).length).toBe(50);
    expect(ask(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)).toEqual(['gone', 'keys', 'leases', 'store']);
    expect([ask('SELECT only_row FROM store'), ask('PRAGMA integrity_check')]).toEqual([[1], ['ok']]);
  },
);

describe('processes that write without a pause, and are killed meanwhile', () => {
  const KILLS = 50;
  const WRITERS = 4;

  it(
    'leave the file intact, with every acknowledged write, and no call fails because the file is locked',
    { timeout: LIMIT_MS },
    async () => {
      const file = scratch();
      const store = await file.open();
      const start = (): Promise<ScriptProcess> => file.spawn(WRITER, [], WRITERS_NICE);
      const living = await Promise.all(Array.from({ length: WRITERS }, start));
      let halves = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        const victim = living.shift() ?? expect.unreachable('no process is left');
        // Each has written before it dies, at whichever moment.
        await victim.waitFor('counted', { withinMs: WAIT_MS });
        await sleep(Math.random() * 20);
        victim.sigkill();
        living.push(await start());
        const pair = await store.list('pair', CALL);
        expect(new Set(pair.map(textOf)).size).toBe(1);
        halves += pair.length;
      }
      expect(halves).toBe(2 * KILLS);
      await Promise.all(living.map((script) => script.waitFor('counted', { withinMs: WAIT_MS })));
      await Promise.all(file.processes.map((script) => script[Symbol.asyncDispose]()));
      expect(complaints()).toEqual([]);
      const acknowledged = file.processes.flatMap(({ events }) =>
        events.filter(({ event }) => event === 'counted').map(({ fields }) => Number(fields['count'])),
      );
      expect(new Set(acknowledged).size).toBe(acknowledged.length);
      const counted = Number(textOf(await store.read('pair/left', CALL)));
      // A process may have been killed after a write and before it emitted the count.
      expect(counted).toBeGreaterThanOrEqual(Math.max(...acknowledged));
      expect(counted - acknowledged.length).toBeLessThanOrEqual(KILLS + WRITERS);
      expect(ask('PRAGMA integrity_check')).toEqual(['ok']);
      // All are dead: nothing of theirs is left once one asks for a lease.
      await store.grantLease(1_000, { ...CALL, at: { monotonicMs: 0, wallMs: 0 } });
      await until(() => ask(`SELECT key FROM keys WHERE key LIKE 'incumbent/queue/%'`).length === 0, {
        what: 'no entry is left',
        withinMs: 1_000,
      });
    },
  );
});
