import { readdir, readFile } from 'node:fs/promises';

/**
 * Whether no thread of a process runs any more after SIGSTOP. On a busy machine the signal reaches
 * one thread after the other, some of them late. True for a process that has ended. True on systems
 * without `/proc`, where this is unknown.
 */
export async function isStopped(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(threads.map((thread) => stateOf(`/proc/${pid}/task/${thread}/stat`)));
  return states.every((state) => 'TtXZ'.includes(state));
}

/** Whether a process has ended, even if its parent has not yet been told. */
export async function hasEnded(pid: number): Promise<boolean> {
  return 'XZ'.includes(await stateOf(`/proc/${pid}/stat`));
}

/**
 * The state is one letter, as in proc(5), or `X` if the thread is gone. It follows the program's
 * name, which may contain spaces and brackets.
 */
async function stateOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return /^.*\) (\S)/s.exec(text)?.[1] ?? 'X';
}
