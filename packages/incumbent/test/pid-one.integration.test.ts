/**
 * Stop signals to a process that is PID 1 of its container. The kernel drops a signal to such a
 * process unless the process listens to the signal.
 */

import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { canBePidOne, signalPidOne, spawnAsPidOne, type ScriptProcess } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

const PROGRAM = new URL('as-pid-one.ts', import.meta.url);
const WITHIN_MS = 30_000;
/** Nothing listens at this address. */
const NOWHERE = 'redis://127.0.0.1:1/my-app';

async function exitStatus(script: ScriptProcess): Promise<unknown> {
  return Promise.race([script.exited, sleep(WITHIN_MS, 'it did not exit', { ref: false })]);
}

describe.runIf(canBePidOne())('lead in a process that is PID 1', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends at a %s while it waits for the store', async (name) => {
    await using script = await spawnAsPidOne(PROGRAM, { args: [NOWHERE] });
    expect((await script.waitFor('waits', { withinMs: WITHIN_MS })).fields['pid']).toBe(1);
    await signalPidOne(script, name);
    expect(await exitStatus(script)).toBe(128 + constants.signals[name]);
  });

  it('ends at a second signal if its work does not stop, but not at one that comes together with the first', async () => {
    await using script = await spawnAsPidOne(PROGRAM, { args: ['memory:'] });
    expect((await script.waitFor('leads', { withinMs: WITHIN_MS })).fields['pid']).toBe(1);
    await signalPidOne(script, 'SIGINT', 'SIGTERM');
    await script.waitFor('ended', { withinMs: WITHIN_MS });
    await sleep(1_000);
    expect(script.running).toBe(true);
    await signalPidOne(script, 'SIGTERM');
    expect(await exitStatus(script)).toBe(128 + constants.signals.SIGTERM);
  });
});
