/**
 * Signals to a command that is PID 1, as in its container image. The kernel drops a signal to such
 * a process unless the process listens to the signal.
 */

import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { openSqlite } from '@incumbent/sqlite';
import { canBePidOne, makeScratch, signalPidOne, spawnAsPidOne, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DEADLINE_MS, MAIN, says } from './support/command.ts';

let scratch: Scratch;
let url: string;
beforeEach(async () => {
  scratch = await makeScratch('pid-one');
  url = `sqlite:${join(scratch.path, 'state.db')}`;
});
afterEach(async () => scratch.remove());

async function start(...args: readonly string[]): Promise<ScriptProcess> {
  return spawnAsPidOne(MAIN, { args, env: { INCUMBENT_STORE: url } });
}

async function exitStatus(command: ScriptProcess): Promise<unknown> {
  return Promise.race([command.exited, sleep(DEADLINE_MS, 'it did not exit', { ref: false })]);
}

describe.runIf(canBePidOne())('a command that is PID 1', () => {
  it.each([
    ['watch', 'SIGTERM', 128 + constants.signals.SIGTERM],
    ['watch', 'SIGINT', 128 + constants.signals.SIGINT],
    ['watch', 'SIGHUP', 128 + constants.signals.SIGHUP],
    ['serve', 'SIGHUP', 128 + constants.signals.SIGHUP],
    ['serve', 'SIGTERM', 0],
    ['run', 'SIGTERM', 7],
  ] as const)('%s ends at %s with %i', async (name, signal, status) => {
    const commands = {
      watch: [['watch', 'db'], 'vacant'],
      serve: [['serve', '--listen', '127.0.0.1:0'], 'serves http'],
      run: [['run', '--election', 'db', '--', 'sh', '-c', 'trap "exit 7" TERM; echo begins; while :; do sleep 0.1; done'], 'begins'],
    } as const;
    const [args, text] = commands[name];
    await (await openSqlite(url)).close();
    await using command = await start(...args);
    await says(command, text);
    await signalPidOne(command, signal);
    expect([await exitStatus(command), command.output]).toEqual([status, expect.anything()]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('doctor ends at %s with 128 + n, and leaves no key behind', async (signal) => {
    await using store = await openSqlite(url);
    const keys = async (): Promise<readonly unknown[]> => store.list('elections', { timeoutMs: DEADLINE_MS });
    const expected = 128 + constants.signals[signal];
    for (let status: unknown; status !== expected;) {
      await using doctor = await start('doctor');
      await until(async () => !doctor.running || (await keys()).length > 0, { what: 'a key', withinMs: DEADLINE_MS, everyMs: 0 });
      await signalPidOne(doctor, signal);
      status = await exitStatus(doctor);
      // On a busy machine, it may end before the signal.
      const isComplete = doctor.output.some((line) => /^ok +elections/.test(line));
      if (!isComplete) expect([status, doctor.output]).toEqual([expected, expect.anything()]);
      expect(await keys()).toEqual([]);
    }
  });
});
