/** One process of a broker, and what it has reported. */

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Command, isReport, type Report } from '../commands.ts';
import { now } from '../events.ts';
import type { BrokerRun, Pause } from './history.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
/** This many last characters of its output are kept for a crash report. */
const OUTPUT_CHARS = 4_000;

export interface BrokerProcessOptions {
  /** The URL of the store. */
  readonly url: string;
  readonly ttlMs: number;
  readonly folder: string;
  /** The port to listen on, if it is free. 0 for any. */
  readonly port: number;
  readonly heard: (report: Report) => void;
}

export class BrokerProcess implements BrokerRun {
  readonly broker: string;
  readonly from: number = now();
  /** Its address, when it is ready. Rejects if the process ends before. */
  readonly ready: Promise<string>;
  /** Resolves when the process has ended and all its reports have arrived. */
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<string>();
  /** Commands that are not carried out yet, in order. */
  readonly #commands: PromiseWithResolvers<void>[] = [];
  #due: string | undefined;
  /** The moment of a kill. The process is dead before the parent learns of it. */
  #killedAt: number | undefined;
  #end: BrokerRun['end'];
  #closed = false;
  readonly #pauses: Pause[] = [];
  #output = '';

  /** The process inherits Node's options from this one, and so finds the same packages. */
  constructor(broker: string, { url, ttlMs, folder, port, heard }: BrokerProcessOptions) {
    this.broker = broker;
    const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
    this.#child = fork(MAIN, [url, broker, String(ttlMs), folder, String(port)], { serialization: 'advanced', stdio: [...stdio] });
    this.#child.on('message', (message) => {
      if (!isReport(message)) return;
      if (message.type === 'ready') this.#ready.resolve(message.url);
      if (message.type === 'obeyed') this.#commands.shift()?.resolve();
      if (message.type === 'event' && message.event.type === 'stopping') this.#stands(message.event.at);
      heard(message);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#output = (this.#output + text).slice(-OUTPUT_CHARS)));
    this.#child.on('error', ({ message }) => (this.#end ??= { at: now(), how: message }));
    this.#child.on('exit', (code, signal) => (this.#end = { at: this.#killedAt ?? now(), how: signal ?? `exit code ${code}` }));
    this.ready = this.#ready.promise;
    this.ready.catch(() => {});
    this.closed = this.#close();
  }

  get due(): string | undefined {
    return this.#due;
  }

  get end(): BrokerRun['end'] {
    return this.#end;
  }

  get isPaused(): boolean {
    return this.#pauses.at(-1)?.to === Infinity && this.#end === undefined;
  }

  /** When the process stood still. The last pause may have no end yet: infinity. */
  get pauses(): readonly Pause[] {
    return this.#pauses;
  }

  /**
   * How the process ended without having been told to, and its last output. Undefined if it did
   * not.
   */
  get crash(): string | undefined {
    if (this.#end === undefined || !this.#closed || this.#due !== undefined) return undefined;
    const error = /^\w*Error\b.*/m.exec(this.#output)?.[0] ?? this.#output.trim().split('\n').at(-1);
    return `${this.broker} ended by itself (${[this.#end.how, error].filter(Boolean).join('; ')})`;
  }

  /**
   * Resolves when the broker has carried out the command, or when its process has ended. Requests
   * over HTTP may overtake a command.
   */
  async command(command: Command): Promise<void> {
    if (this.#closed) return;
    const done = Promise.withResolvers<void>();
    this.#commands.push(done);
    this.#child.send(command, () => {});
    return done.promise;
  }

  /** The process id. Undefined if the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    if (this.#end !== undefined) return;
    this.#due ??= 'SIGKILL';
    this.#killedAt ??= now();
    this.#child.kill('SIGKILL');
  }

  /** Sends one signal only: a second SIGTERM would end the process at once. */
  terminate(): void {
    if (this.#end !== undefined || this.#due !== undefined) return;
    this.#due = 'exit code 0';
    this.#child.kill('SIGTERM');
  }

  pause(): void {
    this.#stands(now());
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    const last = this.#pauses.at(-1);
    if (last?.to === Infinity) this.#pauses.splice(-1, 1, { ...last, to: now() });
    this.#child.kill('SIGCONT');
  }

  #stands(from: number): void {
    if (!this.isPaused) this.#pauses.push({ broker: this.broker, from, to: Infinity });
  }

  async #close(): Promise<void> {
    const [closed, disconnected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#child.once('close', () => closed.resolve()).once('disconnect', () => disconnected.resolve());
    await Promise.all([closed.promise, disconnected.promise]);
    this.#closed = true;
    for (const command of this.#commands.splice(0)) command.resolve();
    this.#ready.reject(new Error(`${this.broker} ended before it was ready: ${this.#output.trim()}`));
  }
}
