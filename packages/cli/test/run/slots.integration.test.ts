/** `incumbent run --slots`: processes that are killed and paused, on two stores. */

import { makeScratch, requireStore, type ScriptProcess, startRedis } from '@incumbent/test-support';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { DEADLINE_MS, incumbent, programThat, started, startRun } from '../support/command.ts';

/** The ttl is long enough for a process that gets no processor time for a while. */
const SLOTS = ['--slots', '2', '--ttl', '6s'] as const;

/** The slot of a program, at its first start at or after a position in the events. */
async function slotOf(run: ScriptProcess, from = 0): Promise<unknown> {
  return (await started(run, from)).fields['slot'];
}

const isWorking = (run: ScriptProcess): boolean => run.events.some(({ event }) => event === 'started');

async function survives(store: string, flags: readonly string[]): Promise<void> {
  const start = (id: string): Promise<ScriptProcess> => startRun(store, id, [...SLOTS, ...flags, ...programThat()]);
  await using a = await start('a');
  expect(await slotOf(a)).toBe('0');
  await using b = await start('b');
  expect(await slotOf(b)).toBe('1');
  await using c = await start('c');
  await expect.poll(() => c.output.join('\n'), { timeout: DEADLINE_MS }).toContain('waits to lead');
  expect(isWorking(c)).toBe(false);

  a.sigkill();
  expect(await slotOf(c)).toBe('0');

  // A process that is paused loses its slot, and waits for another one when it goes on.
  await using d = await start('d');
  const before = b.events.length;
  b.sigstop();
  expect(await slotOf(d)).toBe('1');
  b.sigcont();
  d.sigkill();
  expect(await slotOf(b, before)).toBe('1');
  expect(c.running).toBe(true);
}

const hasRedis = await requireStore({ store: 'redis', own: true });

describe('slots', () => {
  it('on SQLite go to processes that wait, when others are killed or paused', { timeout: 4 * DEADLINE_MS }, async () => {
    const scratch = await makeScratch('slots');
    try {
      await survives(`sqlite:${join(scratch.path, 'state.db')}`, []);
    } finally {
      await scratch.remove();
    }
  });

  it.runIf(hasRedis)('on Redis go to processes that wait, when others are killed or paused', { timeout: 4 * DEADLINE_MS }, async () => {
    await using server = await startRedis();
    await survives(`${server.url}/slots`, ['--accept-weak-store', 'redis']);
  });

  it('are a number from 1 to 100', async () => {
    for (const slots of ['0', '101', '1.5', 'three']) {
      const { code, output } = await incumbent(['run', '--election', 'x', '--slots', slots, '--', 'true']);
      expect([code, output]).toEqual([125, expect.stringContaining('--slots')]);
    }
  });
});
