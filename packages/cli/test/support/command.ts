/** Runs the command in a process of its own, as users do. */

import { fileURLToPath } from 'node:url';
import { outcomeOf, spawnScript, until, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';

export const MAIN = new URL('../../src/main.ts', import.meta.url);
const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));

export const DEADLINE_MS = 30_000;

const NODE = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'] as const;

/** `--` and the command line of `program.ts`, the program that these tests run. */
export function programThat(...words: readonly string[]): readonly string[] {
  return ['--', process.execPath, ...NODE, PROGRAM, ...words];
}

/** The command line of `incumbent …`, for tests that start it themselves. */
export function mainCommand(...args: readonly string[]): readonly string[] {
  return [process.execPath, ...NODE, fileURLToPath(MAIN), ...args];
}

/** Starts a command that starts `incumbent` itself. Events come from all of its descendants. */
export async function startCommand(command: readonly string[], env: Readonly<Record<string, string>>): Promise<ScriptProcess> {
  return spawnScript(new URL('enter.ts', import.meta.url), { args: command, env });
}

export interface CommandOutput {
  readonly code: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** Runs `incumbent …` to its end. */
export async function incumbent(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandOutput> {
  const { status, output } = await outcomeOf(mainCommand(...args), {
    env: { NODE_OPTIONS: '', ...env },
    timeoutMs: DEADLINE_MS,
  });
  return { code: status, output };
}

/** Starts `incumbent run --election controller …`. The events are those of its program. */
export async function startRun(store: string, member: string, args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(MAIN, { args: ['run', '--election', 'controller', '--member', member, ...args], env: { INCUMBENT_STORE: store } });
}

/** Waits for the first start of the program at or after a position in the events. */
export async function started(run: ScriptProcess, from = 0): Promise<ScriptEvent> {
  return run.waitFor(({ event, fields }) => event === 'started' && fields['who'] === 'program', { withinMs: DEADLINE_MS, from });
}

/** The time of the last heartbeat of the program of a term. */
export function lastBeat(run: ScriptProcess, term: unknown): bigint {
  return run.events.findLast(({ event, fields }) => event === 'beat' && fields['term'] === term)?.at ?? 0n;
}

/** Waits until a line of its output contains the text. */
export async function says(run: ScriptProcess, text: string): Promise<void> {
  await until(() => run.output.some((line) => line.includes(text)), {
    what: `"${text}" among ${run.output.join('\n')}`,
    withinMs: DEADLINE_MS,
  });
}
