import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { compileCache } from './compile-cache.ts';
import { supervise, type ExitStatus } from './supervise.ts';

export interface Outcome {
  readonly status: ExitStatus;
  /** All its output: standard output first, then standard error. */
  readonly output: string;
}

export interface OutcomeOptions {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: URL;
  /** The process is killed after this time. */
  readonly timeoutMs: number;
}

/** Runs a command until it ends, successfully or not. It ends with this process at the latest. */
export async function outcomeOf([program = '', ...args]: readonly string[], options: OutcomeOptions): Promise<Outcome> {
  const { env, cwd, timeoutMs } = options;
  const command = await supervise(program, args, {
    ...(cwd === undefined ? {} : { cwd: fileURLToPath(cwd) }),
    env: { ...compileCache(), ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const late = setTimeout(() => command.signal('SIGKILL'), timeoutMs);
  const printed = await Promise.all([command.stdout, command.stderr].map(read));
  const status = await command.exited;
  clearTimeout(late);
  return { status, output: printed.join('') };
}

async function read(stream: Readable | null): Promise<string> {
  return stream === null ? '' : text(stream);
}
