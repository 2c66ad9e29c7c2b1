import { spawnSync } from 'node:child_process';

export interface CommandOptions {
  readonly cwd: string;
}

/**
 * Runs a program to its end and returns its standard output. Throws with all its output if it
 * fails.
 */
export function run(program: string, args: readonly string[], { cwd }: CommandOptions): string {
  const { error, signal, status, stderr, stdout } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 120_000 });
  if (error === undefined && status === 0) return stdout;
  const ending = error?.message ?? (signal === null ? `exit code ${status}` : `signal ${signal}`);
  throw new Error(`${program} ${args.join(' ')}: ${ending}\n${stdout}${stderr}`);
}
