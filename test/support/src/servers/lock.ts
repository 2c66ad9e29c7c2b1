import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Runs a task while this process holds a lock that the other processes of this machine share. Waits
 * as long as another one holds it. The system frees the lock when its holder ends in any way. Needs
 * `flock`, which every Linux has.
 */
export async function withLock<T>(file: string, task: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  // `cat` ends with the pipe, so also with this process.
  const holder = spawn('flock', [file, 'sh', '-c', 'echo locked; exec cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(holder, 'exit');
  try {
    await Promise.race([once(holder.stdout, 'data'), ended.then(([code]) => Promise.reject(new Error(`flock ended with ${code}`)))]);
    return await task();
  } finally {
    holder.stdin.end();
    await ended.catch(() => {});
  }
}
