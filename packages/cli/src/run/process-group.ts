/**
 * Runs a program in a process group of its own, and waits until every process of the group has
 * ended.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { groupIsGone } from '@incumbent/reaper';

import { CliError, Exit } from '../exit.ts';

/** How the program's first process ended. */
export interface ProgramEnd {
  /** Its exit code, or 128 + n if signal n ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | undefined;
  /** How long it ran, in ms. */
  readonly ranMs: number;
}

/** The program could not be started. */
export class NotStarted extends CliError {
  /** Whether the same command may succeed later. */
  readonly isTemporary: boolean;

  constructor(program: string, cause: unknown) {
    const [code, why] = TEMPORARY[errnoOf(cause) ?? ''] ?? [];
    const text = cause instanceof Error ? cause.message : String(cause);
    super(code ?? permanentCode(cause), `${program} cannot be started: ${text}${why === undefined ? '' : `: ${why}`}`, { cause });
    this.name = 'NotStarted';
    this.isTemporary = code !== undefined;
  }
}

/** Errors that may pass, with the exit code and what is missing. */
const TEMPORARY: Readonly<Record<string, readonly [code: number, why: string]>> = {
  EAGAIN: [Exit.RUN_FAILED, 'this user or container may have no more processes (ulimit -u, pids.max)'],
  EMFILE: [Exit.RUN_FAILED, 'this process may open no more files (ulimit -n)'],
  ENFILE: [Exit.RUN_FAILED, 'this machine may open no more files (fs.file-max)'],
  ENOMEM: [Exit.RUN_FAILED, 'there is no memory for it'],
  ETXTBSY: [Exit.NOT_EXECUTABLE, 'another process is writing the file'],
};

/** Pauses between checks whether the group is gone, in ms; the last one repeats. */
const CHECK_AFTER_MS = [1, 2, 5, 10, 20] as const;

export class ProcessGroup {
  /** The id of the program's process and of its group. Undefined if it could not be started. */
  readonly id: number | undefined;
  /**
   * Resolves when the program's first process has ended; other processes of the group may still
   * run. Rejects with `NotStarted` if the program could not be started.
   */
  readonly ended: Promise<ProgramEnd>;
  #isKilled = false;

  /** Starts the program with the standard streams of this process. */
  constructor([program = '', ...args]: readonly string[], env: Readonly<Record<string, string | undefined>>) {
    // Detached gives it a group of its own, so Ctrl-C reaches it once, through this process.
    const child = startedBy(() => spawn(program, args, { stdio: 'inherit', detached: true, env: { ...env } }));
    this.id = child instanceof Error ? undefined : child.pid;
    this.ended = child instanceof Error ? Promise.reject(new NotStarted(program, child)) : endOf(child);
    this.ended.catch(() => {});
  }

  /** Sends a signal to every process of the group. */
  signal(name: NodeJS.Signals): void {
    if (this.id === undefined) return;
    try {
      process.kill(-this.id, name);
    } catch (error) {
      if (!['ESRCH', 'EPERM'].includes(errnoOf(error) ?? '')) throw error;
    }
  }

  /** Sends SIGKILL to the group, and lets `gone` send it again until the group is gone. */
  kill(): void {
    this.#isKilled = true;
    this.signal('SIGKILL');
  }

  get isGone(): boolean {
    return this.id === undefined || groupIsGone(this.id);
  }

  /** Resolves when every process of the group has ended. Zombies count as ended. */
  async gone(): Promise<void> {
    for (let checks = 0; !this.isGone; checks += 1) {
      if (this.#isKilled) this.signal('SIGKILL');
      await sleep(CHECK_AFTER_MS[Math.min(checks, CHECK_AFTER_MS.length - 1)]);
    }
  }
}

/** Node throws some errors of a start, such as ENOMEM, and emits others. */
function startedBy(start: () => ChildProcess): ChildProcess | Error {
  try {
    return start();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

async function endOf(child: ChildProcess): Promise<ProgramEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  const startedAt = performance.now();
  child.once('error', (error) => reject(new NotStarted(child.spawnfile, error)));
  child.once('exit', (code, signal) =>
    resolve({
      code: code ?? Exit.SIGNAL + (signal === null ? 0 : constants.signals[signal]),
      signal: signal ?? undefined,
      ranMs: performance.now() - startedAt,
    }),
  );
  return promise;
}

function permanentCode(cause: unknown): number {
  return errnoOf(cause) === 'ENOENT' ? Exit.NOT_FOUND : Exit.NOT_EXECUTABLE;
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
