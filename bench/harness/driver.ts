/**
 * One candidate's process in any language, with commands on its standard input and events on its
 * standard output.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { basename, isAbsolute } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { processUsage, type Usage } from './usage.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Timestamps are CLOCK_MONOTONIC of the host in ns, read by the driver. They are comparable between
 * drivers and with this process's `process.hrtime`.
 */
export interface DriverEvent {
  readonly event: string;
  readonly at: bigint;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Command {
  readonly do: 'campaign' | 'resign' | 'observe' | 'reportLeading' | 'collect';
  readonly election?: string;
  readonly as?: string;
  readonly times?: number;
}

const WAIT_MS = 60_000;

/** Everything before the last part of an absolute path or a file URL. */
const FOLDERS = /(?:file:\/\/)?\/(?:[\w.@-]+\/)+/g;
const STDERR_LINES = 20;

export class Driver implements AsyncDisposable {
  readonly events: DriverEvent[] = [];
  /** Read just before the process was started. */
  readonly startedAt: bigint;
  readonly #child: ChildProcess;
  readonly #printed: string[] = [];
  readonly #exited: Promise<unknown>;
  #ended = false;
  #heard = Promise.withResolvers<void>();

  constructor({ command, args, env }: Program) {
    this.startedAt = process.hrtime.bigint();
    // The driver does not inherit the Node options of a test runner.
    const { NODE_OPTIONS: _runner, BENCH_NODE_OPTIONS: NODE_OPTIONS, ...inherited } = process.env;
    const own = NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS };
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...inherited, ...own, ...env } });
    this.#child.stdin?.on('error', () => {});
    this.#exited = once(this.#child, 'close').catch(() => {});
    this.#child.once('error', (error) => this.#printed.push(String(error)));
    void this.#exited.then(() => this.#end());
    if (this.#child.stdout !== null) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    if (this.#child.stderr !== null) createInterface({ input: this.#child.stderr }).on('line', (line) => this.#print(line));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  send({ election = 'e', as = 'a', times = 1, ...command }: Command): void {
    this.#child.stdin?.write(`${JSON.stringify({ ...command, election, as, times })}\n`);
  }

  /**
   * Resolves with the first matching event from position `from` on. Rejects if none comes in time,
   * or if the driver has failed or ended.
   */
  async waitFor(wanted: string | ((event: DriverEvent) => boolean), { from = 0, withinMs = WAIT_MS } = {}): Promise<DriverEvent> {
    const matches = typeof wanted === 'string' ? ({ event }: DriverEvent) => event === wanted : wanted;
    const late = performance.now() + withinMs;
    for (let position = from; ;) {
      for (; position < this.events.length; position += 1) {
        const event = this.events[position];
        if (event === undefined) break;
        if (matches(event)) return event;
        if (event.event === 'failed') throw new Error(this.#story(`failed: ${String(event.fields['error'])}`));
      }
      const left = late - performance.now();
      if (this.#ended) throw new Error(this.#story(`ended without ${String(wanted)}`));
      if (left <= 0) throw new Error(this.#story(`told nothing of ${String(wanted)} in ${withinMs} ms`));
      const over = new AbortController();
      await Promise.race([this.#heard.promise, sleep(left, undefined, { signal: over.signal }).catch(() => {})]);
      over.abort();
    }
  }

  /** Sends a command and waits for the event that reports its end. */
  async ask(command: Command, answer: string, withinMs = WAIT_MS): Promise<DriverEvent> {
    const from = this.events.length;
    this.send(command);
    return this.waitFor(answer, { from, withinMs });
  }

  usage(): Usage {
    return processUsage(this.pid);
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#ended) this.#child.kill(name);
  }

  /** Closes its input, so that it ends by itself. Kills it if it has not ended shortly after. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGCONT');
    this.#child.stdin?.end();
    await Promise.race([this.#exited, sleep(2_000, undefined, { ref: false })]);
    this.signal('SIGKILL');
    await this.#exited;
  }

  #take(line: string): void {
    const event = parse(line);
    if (event === undefined) return this.#print(line);
    this.events.push(event);
    this.#wake();
  }

  /** The output may appear in the results, which must not name folders of the machine. */
  #print(line: string): void {
    if (/^\s+at /.test(line)) return;
    this.#printed.push(line.replaceAll(FOLDERS, ''));
    if (this.#printed.length > STDERR_LINES) this.#printed.shift();
  }

  #end(): void {
    this.#ended = true;
    this.#wake();
  }

  #wake(): void {
    this.#heard.resolve();
    this.#heard = Promise.withResolvers();
  }

  #story(what: string): string {
    const last = this.events.slice(-5).map(({ event, at }) => `  ${at} ${event}`);
    const command = this.#child.spawnargs.map((part) => (isAbsolute(part) ? basename(part) : part)).join(' ');
    return [`${command}: ${what}`, ...last, ...this.#printed].join('\n');
  }
}

/** ms from one moment to another. */
export function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

/** A timestamp in an event's fields: the time of the call that the event reports. */
export function stampOf(event: DriverEvent, name: 'since' | 'from'): bigint {
  return BigInt(String(event.fields[name]));
}

function parse(line: string): DriverEvent | undefined {
  if (!line.startsWith('{')) return undefined;
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null || !('event' in value) || !('at' in value)) return undefined;
  return { event: String(value.event), at: BigInt(String(value.at)), fields: { ...value } };
}
