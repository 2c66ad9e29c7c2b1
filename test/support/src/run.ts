import { execFile } from 'node:child_process';

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** 30 000 by default; the command is killed after that. */
  readonly timeoutMs?: number;
  /** What it reads; nothing by default. */
  readonly input?: string;
}

/**
 * Runs a command to its end and gives what it printed. Where it fails, the error's message has what
 * it printed to its standard error.
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { env = process.env, cwd, timeoutMs = 30_000, input = '' } = options;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const { stdin } = execFile(
    command,
    [...args],
    { env, cwd, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
    (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(failure(command, args, error, stderr), { cause: error }));
    },
  );
  // One that reads nothing may have ended by now.
  stdin?.on('error', () => {});
  stdin?.end(input);
  return promise;
}

function failure(command: string, args: readonly string[], error: Error & { killed?: boolean }, stderr: string): string {
  const why = error.killed === true ? 'took too long' : stderr.trim() || error.message;
  return `${[command, ...args].join(' ')}: ${why}`;
}
