import { execFile } from 'node:child_process';

export interface Outcome {
  /** Its exit status; undefined where a signal ended it, or its time was over. */
  readonly status: number | undefined;
  /** All that it printed. */
  readonly output: string;
}

export interface OutcomeOptions {
  /** Added to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: URL;
  readonly timeoutMs: number;
}

/** Runs a command to its end, whatever that is. */
export function outcomeOf([program = '', ...args]: readonly string[], { env, cwd, timeoutMs }: OutcomeOptions): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const settings = {
    env: { ...process.env, ...env },
    cwd,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  } as const;
  execFile(program, args, settings, (error, stdout, stderr) => {
    const status = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
    const why = error !== null && status === undefined ? error.message : '';
    resolve({ status, output: stdout + stderr + why });
  });
  return promise;
}
