/**
 * Scripts that run otherwise than as plain children: in namespaces of their own, or below a parent
 * that is not this process.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { parseStat } from '@incumbent/core/adapter';
import { isSkipped, spawnScript, until, type ScriptProcess } from '@incumbent/test-support';

const ENTER = new URL('scripts/enter.ts', import.meta.url);

/** The command that runs a script on this process's Node. */
export function nodeCommand(script: URL, args: readonly string[]): readonly string[] {
  return [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', fileURLToPath(script), ...args];
}

/** As `spawnScript`, for any command on the PATH. Events come from the processes that it starts. */
export async function spawnCommand(command: string, args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(ENTER, { args: [pathOf(command), ...args] });
}

function pathOf(command: string): string {
  const { stdout } = spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', command], { encoding: 'utf8' });
  return stdout.trim();
}

/** Stops a process, and resolves when it stands. */
export async function stop(script: ScriptProcess): Promise<void> {
  script.sigstop();
  await until(() => stateOf(script.pid) === 'T', { what: 'it stands', withinMs: 10_000, everyMs: 1 });
}

/** As proc(5) has it: `Z` for a zombie. */
export function stateOf(pid: number): string | undefined {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.state;
}

/**
 * Whether this process may become another user, for `describe.runIf(canBecomeOthers())`. Where it
 * may not, this says so on standard error.
 */
export function canBecomeOthers(): boolean {
  return process.getuid?.() === 0 || isSkipped('only the administrator may become another user');
}
