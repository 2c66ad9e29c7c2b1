import { execFile } from 'node:child_process';

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** The command is killed after this time. Default 30,000. */
  readonly timeoutMs?: number;
  /** Its standard input. Default: empty. */
  readonly input?: string;
}

/**
 * Runs a command until it ends, and returns its standard output. Throws an error that contains its
 * standard error if it fails.
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
  // A command that reads nothing may have ended by now.
  stdin?.on('error', () => {});
  stdin?.end(input);
  return promise;
}

function failure(command: string, args: readonly string[], error: Error & { killed?: boolean }, stderr: string): string {
  const why = error.killed === true ? 'took too long' : stderr.trim() || error.message;
  return `${[command, ...args].join(' ')}: ${why}`;
}
