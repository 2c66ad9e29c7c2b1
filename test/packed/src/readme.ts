import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const WAIT_MS = 60_000;

/** The README's first program, and the packages that the line before it installs. */
export interface FirstProgram {
  readonly packages: readonly string[];
  readonly code: string;
}

export function firstProgram(root: string): FirstProgram {
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  const [, packages] = /^npm install (.*)$/m.exec(page) ?? [];
  const [, code] = /`leader\.mjs`:\n\n```js\n([^]*?)```/.exec(page) ?? [];
  if (packages === undefined || code === undefined) throw new Error('the README has no first program');
  return { packages: packages.split(' '), code };
}

/**
 * Does in a folder what the README says: saves the program, runs it twice, and stops the first
 * process. Throws unless the first one leads, then the second one, and both end with 0.
 */
export async function tryFirstProgram(node: string, folder: string, code: string): Promise<void> {
  writeFileSync(join(folder, 'leader.mjs'), code);
  const first = new Run(node, folder);
  await first.says('leads in term 1');
  const second = new Run(node, folder);
  await first.stop();
  await second.says('leads in term 2');
  await second.stop();
  console.log('the README’s program: the first process leads, and the second one after it');
}

/** One process of the program. It ends with this process at the latest. */
class Run {
  readonly #process: ChildProcessByStdio<null, Readable, null>;

  constructor(node: string, folder: string) {
    this.#process = spawn(node, ['leader.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => this.#process.kill('SIGKILL'));
  }

  /** Throws unless the next line is the name of the process and these words. */
  async says(words: string): Promise<void> {
    const lines = createInterface(this.#process.stdout);
    const [printed]: unknown[] = await once(lines, 'line', { signal: AbortSignal.timeout(WAIT_MS) });
    const expected = `worker-${this.#process.pid} ${words}`;
    if (printed !== expected) throw new Error(`the README’s program prints "${String(printed)}", not "${expected}"`);
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    const [status]: unknown[] = await once(this.#process, 'exit', { signal: AbortSignal.timeout(WAIT_MS) });
    if (status !== 0) throw new Error(`the README’s program exits with ${String(status)}`);
  }
}
