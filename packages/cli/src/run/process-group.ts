/** A program in a process group of its own, which is over only when nothing of the group is left. */

import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { groupIsGone } from '@incumbent/reaper';

import { CliError, Exit } from '../exit.ts';

/** How the program itself ended. */
export interface ProgramEnd {
  /** Its exit code, or 128 + n where signal n ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | undefined;
}

/** How often it is looked whether the group is gone, in ms: often at first. */
const LOOK_MS = [1, 2, 5, 10, 20] as const;

export class ProcessGroup {
  /** The program's process id, and its group's. Undefined where it could not be started. */
  readonly id: number | undefined;
  /** Resolves when the program itself has ended; others of its group may go on. Rejects with a `CliError` where it could not be started. */
  readonly ended: Promise<ProgramEnd>;
  #killed = false;

  /** Its standard streams are this process's own. */
  constructor([program = '', ...args]: readonly string[], env: Readonly<Record<string, string | undefined>>) {
    // Detached: a group of its own, so that Ctrl-C reaches it once, by way of this process.
    const child = spawn(program, args, { stdio: 'inherit', detached: true, env: { ...env } });
    this.id = child.pid;
    this.ended = endOf(child);
    this.ended.catch(() => {});
  }

  /** To all of the group. */
  signal(name: NodeJS.Signals): void {
    if (this.id === undefined) return;
    try {
      process.kill(-this.id, name);
    } catch (error) {
      if (!hasCode(error, 'ESRCH', 'EPERM')) throw error;
    }
  }

  /** From now on SIGKILL, again and again, until none of it is left. */
  kill(): void {
    this.#killed = true;
    this.signal('SIGKILL');
  }

  get isGone(): boolean {
    return this.id === undefined || groupIsGone(this.id);
  }

  /** Resolves when none of it is left; zombies do nothing, and count as gone. */
  async gone(): Promise<void> {
    for (let look = 0; !this.isGone; look += 1) {
      if (this.#killed) this.signal('SIGKILL');
      await sleep(LOOK_MS[Math.min(look, LOOK_MS.length - 1)]);
    }
  }
}

async function endOf(child: ChildProcess): Promise<ProgramEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  child.once('error', (error) => reject(notStarted(child.spawnfile, error)));
  child.once('exit', (code, signal) =>
    resolve({ code: code ?? Exit.SIGNAL + (signal === null ? 0 : constants.signals[signal]), signal: signal ?? undefined }),
  );
  return promise;
}

function notStarted(program: string, cause: Error): CliError {
  const code = hasCode(cause, 'ENOENT') ? Exit.NOT_FOUND : Exit.NOT_EXECUTABLE;
  return new CliError(code, `${program} cannot be started: ${cause.message}`, { cause });
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}
