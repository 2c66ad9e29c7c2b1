/** Sidecars and clients in other languages, each in a process of its own. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { freePort, type ScriptProcess, spawnScript, until } from '@incumbent/test-support';

const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url);
const WAIT_MS = 60_000;

/** The programs of the clients, by language. */
const PROGRAMS = {
  python: ['python3', fileURLToPath(new URL('serve-client.py', import.meta.url))],
  shell: ['bash', fileURLToPath(new URL('serve-client.sh', import.meta.url))],
} as const;

export type Language = keyof typeof PROGRAMS;

/** One act of a client that believed that it led. */
interface Act {
  readonly term: bigint;
  readonly atNs: bigint;
}

export interface ServeProcess extends AsyncDisposable {
  readonly url: string;
  readonly process: ScriptProcess;
}

/** Starts `incumbent serve`, and waits until it serves. */
export async function startServe(store: string, member: string, options: readonly string[] = []): Promise<ServeProcess> {
  const port = await freePort();
  const args = ['serve', '--listen', `127.0.0.1:${port}`, '--member', member, ...options];
  const process = await spawnScript(MAIN, { args, env: { INCUMBENT_STORE: store } });
  await until(() => process.output.some((line) => line.includes('serves http')), { what: 'the sidecar serves', withinMs: WAIT_MS });
  return { url: `http://127.0.0.1:${port}`, process, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

/** A client in a process of its own, and its acts. */
export class ServeClient implements AsyncDisposable {
  readonly acts: Act[] = [];
  readonly #child: ChildProcess;
  readonly #errors: string[] = [];

  constructor(language: Language, url: string, candidacy: string) {
    const [command, script] = PROGRAMS[language];
    // A process group of its own: the shell's curl is stopped and killed with the shell.
    const child = spawn(command, [script, url, 'reports', candidacy], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, term, atNs] = /^work (\d+) (\d+)$/.exec(line) ?? [];
      if (term !== undefined && atNs !== undefined) this.acts.push({ term: BigInt(term), atNs: BigInt(atNs) });
    });
    createInterface({ input: child.stderr }).on('line', (line) => this.#errors.push(line));
  }

  /** The last term in which the client has acted; 0n if there is none. */
  get term(): bigint {
    return this.acts.at(-1)?.term ?? 0n;
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-this.#child.pid, name);
  }

  /** Resolves when the client acts in a term after this one. */
  async leadsAfter(term: bigint): Promise<void> {
    await until(() => this.term > term, { what: `the client leads after term ${term}: ${this.#errors.join('\n')}`, withinMs: WAIT_MS });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#child, 'close');
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.signal('SIGCONT');
    this.signal('SIGKILL');
    await closed;
  }
}

/**
 * Checks that no client has acted in a term after another one has acted in a later term. Returns the
 * shortest time between the last act of a term and the first act of the next one, in ms.
 */
export function checkActs(clients: readonly ServeClient[]): number {
  const terms = Map.groupBy(
    clients.flatMap(({ acts }) => acts),
    ({ term }) => term,
  );
  const spans = [...terms]
    .map(([term, acts]) => ({ term, times: acts.map(({ atNs }) => Number(atNs / 1_000n) / 1_000) }))
    .toSorted((a, b) => Number(a.term - b.term))
    .map(({ term, times }) => ({ term, first: Math.min(...times), last: Math.max(...times) }));
  let marginMs = Infinity;
  for (const [index, { term, first }] of spans.entries()) {
    const before = spans[index - 1];
    if (before === undefined) continue;
    marginMs = Math.min(marginMs, first - before.last);
    assert.ok(
      first > before.last,
      `a client acted in term ${before.term} for ${before.last - first} ms after the first act of term ${term}`,
    );
  }
  return marginMs;
}
