/**
 * Two processes must not use one file with two different logs: each would see a leader of its own.
 */

import { existsSync, rmSync } from 'node:fs';
import { spawnScript, until, type ScriptProcess } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { ScratchFile, WITHIN_MS } from './scratch-file.ts';

const CLAIMANT = new URL('scripts/claimant.ts', import.meta.url);

/** The last event of each process, after ten more events of each. */
async function lastEvents(...processes: readonly ScriptProcess[]): Promise<readonly string[]> {
  const from = processes.map(({ events }) => events.length + 10);
  await until(() => processes.every(({ events }, index) => events.length > (from[index] ?? 0)), {
    what: 'ten events of each process',
    withinMs: WITHIN_MS,
  });
  return processes.map(({ events }) => events.at(-1)?.event ?? '');
}

async function startLeader(file: ScratchFile, ...more: readonly string[]): Promise<ScriptProcess> {
  const leader = await spawnScript(CLAIMANT, { args: [file.path, ...more] });
  await leader.waitFor('leads', { withinMs: WITHIN_MS });
  return leader;
}

describe('at most one of two processes leads', () => {
  it('when the log of the open file is removed', async () => {
    await using file = await ScratchFile.make('two-logs');
    await using first = await startLeader(file);
    for (const suffix of ['-wal', '-shm']) rmSync(file.path + suffix);
    await using second = await spawnScript(CLAIMANT, { args: [file.path] });
    expect(await lastEvents(first, second)).not.toEqual(['leads', 'leads']);
  });

  it('when the leader has read the file itself, and another process has opened and closed the file', async () => {
    await using file = await ScratchFile.make('two-logs');
    // Closing a descriptor of the file releases SQLite's locks, so the process that closes the file
    // takes itself for the last one, and may remove the log.
    await using first = await startLeader(file, 'copy');
    await using passing = await spawnScript(CLAIMANT, { args: [file.path, 'close'] });
    await passing.exited;
    expect.soft(existsSync(`${file.path}-wal`)).toBe(true);
    await using second = await spawnScript(CLAIMANT, { args: [file.path] });
    expect(await lastEvents(first, second)).not.toEqual(['leads', 'leads']);
  });
});
