/** Sidecars and clients in other languages, each in a process of its own. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { freePort, type Language, languageCommand, type ScriptProcess, spawnScript, until } from '@incumbent/test-support';

const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url);
const WAIT_MS = 60_000;
export const ELECTION = 'reports';

/** The programs of the clients, by language. */
const CLIENTS: Readonly<Record<Language, string>> = {
  python: 'serve-client.py',
  shell: 'serve-client.sh',
  go: 'serve-client.go',
  java: 'serve-client.java',
  ruby: 'serve-client.rb',
};

/** The shell has no finer clock than /proc/uptime, which is rounded down. */
const SHELL_CLOCK_NS = 10_000_000n;

/** One act of a client that believed that it led. Times are those of `process.hrtime.bigint()`. */
interface Act {
  readonly term: bigint;
  /**
   * The reading of the clock that the client has compared with its deadline: not before and not
   * after these moments.
   */
  readonly fromNs: bigint;
  readonly toNs: bigint;
  /** When the line of the act was read here. The client may have stood still before it wrote it. */
  readonly arrivedNs: bigint;
}

export interface ServeProcess extends AsyncDisposable {
  readonly url: string;
  readonly process: ScriptProcess;
}

export interface StartServeOptions {
  /** Further options of the command. */
  readonly options?: readonly string[];
  /** Default: a free one. */
  readonly port?: number;
}

/** Starts `incumbent serve`, and waits until it serves. */
export async function startServe(store: string, member: string, { options = [], port }: StartServeOptions = {}): Promise<ServeProcess> {
  const address = `127.0.0.1:${port ?? (await freePort())}`;
  const args = ['serve', '--listen', address, '--member', member, ...options];
  const process = await spawnScript(MAIN, { args, env: { INCUMBENT_STORE: store } });
  await until(() => process.output.some((line) => line.includes('serves http')), {
    what: `the sidecar serves: ${process.output.join('\n')}`,
    withinMs: WAIT_MS,
  });
  return { url: `http://${address}`, process, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

/** A client in a process of its own, and its acts. */
export class ServeClient implements AsyncDisposable {
  readonly name: string;
  readonly acts: Act[] = [];
  readonly #child: ChildProcess;
  readonly #errors: string[] = [];

  static async start(language: Language, url: string, candidacy: string): Promise<ServeClient> {
    const file = fileURLToPath(new URL(CLIENTS[language], import.meta.url));
    const { command, args, env } = await languageCommand(language, file);
    // A process group of its own: the shell's curl is stopped and killed with the shell.
    const child = spawn(command, [...args, url, ELECTION, candidacy], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...env },
    });
    const clock = language === 'shell' ? { shiftNs: uptimeShiftNs(), stepNs: SHELL_CLOCK_NS } : { shiftNs: 0n, stepNs: 0n };
    return new ServeClient(`${candidacy} (${language})`, child, clock);
  }

  private constructor(name: string, child: ChildProcess, { shiftNs, stepNs }: { readonly shiftNs: bigint; readonly stepNs: bigint }) {
    this.name = name;
    this.#child = child;
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new TypeError('the client has no output');
    createInterface({ input: stdout }).on('line', (line) => {
      const [, term, atNs] = /^work (\d+) (\d+)$/.exec(line) ?? [];
      if (term === undefined || atNs === undefined) {
        this.#errors.push(line);
        return;
      }
      const fromNs = BigInt(atNs) + shiftNs;
      this.acts.push({ term: BigInt(term), fromNs, toNs: fromNs + stepNs, arrivedNs: process.hrtime.bigint() });
    });
    createInterface({ input: stderr }).on('line', (line) => this.#errors.push(line));
  }

  /** The last term in which the client has acted; 0n if there is none. */
  get term(): bigint {
    return this.acts.at(-1)?.term ?? 0n;
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-this.#child.pid, name);
  }

  /** Whether an act of the client was read within the last so many ms. */
  actedWithin(ms: number): boolean {
    const last = this.acts.at(-1);
    return last !== undefined && process.hrtime.bigint() - last.arrivedNs < BigInt(ms) * 1_000_000n;
  }

  /** Resolves when the client acts in a term after this one. */
  async leadsAfter(term: bigint): Promise<void> {
    try {
      await until(() => this.term > term, { what: `${this.name} leads after term ${term}`, withinMs: WAIT_MS });
    } catch (cause) {
      throw new Error(`${this.name} has printed besides its acts: ${this.#errors.slice(-20).join('\n')}`, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#child, 'close');
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.signal('SIGCONT');
    this.signal('SIGKILL');
    await closed;
  }
}

/** The acts of one term. */
export interface TermSpan {
  readonly term: bigint;
  readonly client: string;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

/** The acts of all terms in the order of the terms. Fails if two clients have acted in one term. */
export function spansOf(clients: readonly ServeClient[]): readonly TermSpan[] {
  const spans = new Map<bigint, TermSpan>();
  for (const { name, acts } of clients) {
    for (const { term, fromNs, toNs } of acts) {
      const before = spans.get(term) ?? { term, client: name, fromNs, toNs };
      assert.equal(before.client, name, `two clients have acted in term ${term}`);
      spans.set(term, {
        term,
        client: name,
        fromNs: fromNs < before.fromNs ? fromNs : before.fromNs,
        toNs: toNs > before.toNs ? toNs : before.toNs,
      });
    }
  }
  return [...spans.values()].toSorted((a, b) => Number(a.term - b.term));
}

/**
 * Checks that no client has acted in a term after another one has acted in a later term. Returns
 * the shortest time between the last act of a term and the first act of the next one, in ms.
 */
export function checkActs(clients: readonly ServeClient[]): number {
  const spans = spansOf(clients);
  let marginMs = Infinity;
  for (const [index, { term, client, fromNs }] of spans.entries()) {
    const before = spans[index - 1];
    if (before === undefined) continue;
    const betweenMs = Number(fromNs - before.toNs) / 1e6;
    assert.ok(
      betweenMs > 0,
      `${before.client} acted in term ${before.term} for ${-betweenMs} ms after the first act of ${client} in term ${term}`,
    );
    marginMs = Math.min(marginMs, betweenMs);
  }
  return marginMs;
}

/**
 * How many acts were written after an act of a later term was read: their clients were stopped
 * between the check and the write. A fence refuses these.
 */
export function lateActs(clients: readonly ServeClient[]): number {
  const acts = clients.flatMap((client) => client.acts).toSorted((a, b) => Number(a.arrivedNs - b.arrivedNs));
  let [newest, late] = [0n, 0];
  for (const { term } of acts) {
    if (term < newest) late += 1;
    else newest = term;
  }
  return late;
}

/**
 * What must be added to /proc/uptime for the clock of `process.hrtime.bigint()`. They differ if the
 * machine has been suspended. Waits for a change of the coarse clock, at most 10 ms.
 */
function uptimeShiftNs(): bigint {
  const uptimeNs = (): bigint => BigInt(Math.round(Number(/^\S+/.exec(readFileSync('/proc/uptime', 'utf8'))?.[0]) * 100)) * SHELL_CLOCK_NS;
  const shifts = Array.from({ length: 3 }, () => {
    const before = uptimeNs();
    let now = before;
    while (now === before) now = uptimeNs();
    return process.hrtime.bigint() - now;
  });
  return shifts.reduce((least, each) => (each < least ? each : least));
}
