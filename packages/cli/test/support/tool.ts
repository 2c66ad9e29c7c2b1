/** The command as a process of its own, as people run it. */

import { fileURLToPath } from 'node:url';
import { outcomeOf, spawnScript, until, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';

const MAIN = new URL('../../src/main.ts', import.meta.url);
const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));

export const PATIENCE_MS = 30_000;

const NODE = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'] as const;

/** What goes behind `--`: the program of these tests. */
export function programThat(...words: readonly string[]): readonly string[] {
  return ['--', process.execPath, ...NODE, PROGRAM, ...words];
}

/** `incumbent …`, to be started by whoever has a need of its own. */
export function mainCommand(...args: readonly string[]): readonly string[] {
  return [process.execPath, ...NODE, fileURLToPath(MAIN), ...args];
}

/** Begins a command that starts `incumbent` by and by; events come from whatever it starts. */
export async function startCommand(command: readonly string[], env: Readonly<Record<string, string>>): Promise<ScriptProcess> {
  return spawnScript(new URL('enter.ts', import.meta.url), { args: command, env });
}

export interface Said {
  readonly code: number;
  /** Its standard output, then its errors. */
  readonly output: string;
}

/** Runs `incumbent …` to its end. */
export async function incumbent(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const { status, output } = await outcomeOf(mainCommand(...args), {
    env: { NODE_OPTIONS: '', ...env },
    timeoutMs: PATIENCE_MS,
  });
  return { code: status, output };
}

/** Begins `incumbent run --election controller …`: its program's words are events. */
export async function startRun(store: string, member: string, args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(MAIN, { args: ['run', '--election', 'controller', '--member', member, ...args], env: { INCUMBENT_STORE: store } });
}

/** The first start of a program, in whatever term; from a position of the events on. */
export async function started(run: ScriptProcess, from = 0): Promise<ScriptEvent> {
  return run.waitFor(({ event, fields }) => event === 'started' && fields['who'] === 'program', { withinMs: PATIENCE_MS, from });
}

/** When one of its programs last said that it lives. */
export function lastBeat(run: ScriptProcess, term: unknown): bigint {
  return run.events.findLast(({ event, fields }) => event === 'beat' && fields['term'] === term)?.at ?? 0n;
}

/** Waits until a line of its errors has this text. */
export async function says(run: ScriptProcess, text: string): Promise<void> {
  await until(() => run.output.some((line) => line.includes(text)), {
    what: `"${text}" among ${run.output.join('\n')}`,
    withinMs: PATIENCE_MS,
  });
}
