/** Scripts that are PID 1, as the first process of a container is. */

import { readFile } from 'node:fs/promises';

import { spawnScript, type ScriptProcess, type SpawnOptions } from './processes.ts';
import { canUnshare } from './unshare.ts';

const SPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'] as const;

/** As `canUnshare`, for `spawnAsPidOne`. */
export function canBePidOne(): boolean {
  return canUnshare(...SPACE);
}

/**
 * Starts a script that is PID 1. Signals to the process that is returned reach `unshare`, its
 * parent: `signalPidOne` signals the script itself.
 */
export async function spawnAsPidOne(script: URL | string, options: Omit<SpawnOptions, 'built' | 'runtime'> = {}): Promise<ScriptProcess> {
  const runtime = ['unshare', ...SPACE, process.execPath, '--conditions=@incumbent/source', '--disable-warning=IncumbentWarning'] as const;
  return spawnScript(script, { ...options, runtime });
}

/**
 * Sends the signals, one right after the other, to a script that `spawnAsPidOne` started and that
 * has begun to run. Does nothing if the script has ended.
 */
export async function signalPidOne({ pid }: ScriptProcess, ...names: readonly NodeJS.Signals[]): Promise<void> {
  // The id that the script has outside of its namespace.
  const child = Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1').catch(() => ''));
  if (child > 0) for (const name of names) process.kill(child, name);
}
