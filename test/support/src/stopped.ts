import { readdir, readFile } from 'node:fs/promises';

/**
 * Whether no thread of a process runs any more after SIGSTOP: the signal is sent at once, and on a
 * busy machine arrives later, one thread after the other. True of a process that has ended. Where
 * there is no `/proc`, nobody can tell: then it says true.
 */
export async function isStopped(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(threads.map((thread) => stateOf(`/proc/${pid}/task/${thread}/stat`)));
  return states.every((state) => 'TtXZ'.includes(state));
}

/**
 * One letter, as in proc(5); `X` if the thread is gone. It stands behind the program's name, which
 * may have spaces and brackets in it.
 */
async function stateOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return /^.*\) (\S)/s.exec(text)?.[1] ?? 'X';
}
