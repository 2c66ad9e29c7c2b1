import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { supervise, type ExitStatus } from './supervise.ts';

export interface Outcome {
  readonly status: ExitStatus;
  /** All that it printed: its standard output, then its errors. */
  readonly output: string;
}

export interface OutcomeOptions {
  /** Added to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: URL;
  /** It is killed after that. */
  readonly timeoutMs: number;
}

/** Runs a command to its end, whatever that is; it ends at the latest with this process. */
export async function outcomeOf([program = '', ...args]: readonly string[], options: OutcomeOptions): Promise<Outcome> {
  const { env, cwd, timeoutMs } = options;
  const command = await supervise(program, args, {
    ...(cwd === undefined ? {} : { cwd: fileURLToPath(cwd) }),
    env: { ...process.env, ...env },
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
