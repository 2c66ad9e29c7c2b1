/** REVIEW, fails: processes of one kernel that see it differently end each other's living leases. Needs root, for `unshare`. */

import { spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { makeScratch, spawnScript, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

const holder = fileURLToPath(new URL('holder.ts', import.meta.url));
const node = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', holder];

/** A command's lines, as they come; killed with all that it started at the end. */
class Command implements AsyncDisposable {
  output = '';
  readonly #child;

  constructor(command: string, args: readonly string[]) {
    const { NODE_OPTIONS: _runner, ...env } = process.env;
    this.#child = spawn(command, args, { detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream.setEncoding('utf8').on('data', (text) => (this.output += text));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it says first of these. */
  async says(...words: readonly string[]): Promise<string> {
    const find = () => words.find((word) => this.output.includes(`"${word}"`));
    return until(find, { what: words.join(' or '), withinMs: 10_000 }).catch((cause: unknown) => {
      throw new Error(`it said only: ${this.output}`, { cause });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
}

describe('a leader lives on, and nobody else is elected, when the file is opened by a process', () => {
  it('whose /proc has no boot id (systemd: ProcSubset=pid)', async () => {
    await using scratch = { ...(await makeScratch('review')), [Symbol.asyncDispose]: async () => scratch.remove() };
    const file = `${scratch.path}/state.db`;
    await using leader = await spawnScript(holder, { args: [file] });
    await leader.waitFor('leads', { withinMs: 10_000 });
    const hidden = ['-m', 'sh', '-c', 'mount -t proc -o subset=pid proc /proc && exec "$@"', 'sh', ...node, file];
    await using second = new Command('unshare', hidden);
    expect.soft(await second.says('leads', 'follows')).toBe('follows');
    await setTimeout(500);
    expect(leader.events.at(-1)?.event).toBe('leads');
  });

  it('in the same pid namespace, whose /proc is another namespace’s (nsenter --pid alone)', async () => {
    await using scratch = { ...(await makeScratch('review')), [Symbol.asyncDispose]: async () => scratch.remove() };
    const file = `${scratch.path}/state.db`;
    await using leader = new Command('unshare', ['-pf', '--kill-child', '--mount-proc', ...node, file]);
    await leader.says('leads');
    // What unshare has forked is in the new namespace.
    await using second = new Command('sh', ['-c', `exec nsenter -t $(pgrep -P ${leader.pid}) -p "$@"`, 'sh', ...node, file]);
    expect.soft(await second.says('leads', 'follows')).toBe('follows');
    await setTimeout(500);
    expect(leader.output).not.toContain('"lost"');
  });
});
