/** The one reaper of this process: started when there is something to tell it, told all again when it had to be started anew, ended when nobody needs it. */

import type { ReapedMember } from '@incumbent/core';

import { linesTo } from './lines.ts';
import { readTelling, writeLine, type Told } from './messages.ts';
import { Roster } from './roster.ts';
import type { Started } from './spawn.ts';

type Listener = Pick<ReapedMember, 'emit'>;

export interface HelperOptions {
  /** `lean`: false after one that did not get as far as to be ready. */
  readonly start: (lean: boolean) => Started;
  /** What every reaper is told first. */
  readonly parent: Told;
}

/** How long after the loss of one another is started, in ms: at first, and at last. One that has lived for longer than that begins anew. */
const FIRST_RESTART_MS = 1_000;
const LAST_RESTART_MS = 60_000;

/** How long one that was told to end may take, in ms; then it is killed. */
const END_MS = 1_000;

/** More than so many bytes that it has not read: it is stopped, or stuck. */
const MAX_UNREAD = 2 ** 20;

/** One that is running. */
interface Running extends Started {
  readonly ended: Promise<void>;
  readonly startedAt: number;
  isReady: boolean;
  isEnding: boolean;
}

export class Helper {
  readonly #options: HelperOptions;
  readonly #roster = new Roster();
  readonly #listeners = new Set<Listener>();
  #running: Running | undefined;
  #restart: NodeJS.Timeout | undefined;
  #restartMs = FIRST_RESTART_MS;
  #isLean = true;
  /** There will never be one. */
  #refused = false;
  /** It was told that there is none; not again before there was one. */
  #isLossTold = false;

  constructor(options: HelperOptions) {
    this.#options = options;
  }

  /** The id of its process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
  }

  /** Resolves when what this listener needed of it is gone. */
  async remove(listener: Listener): Promise<void> {
    this.#listeners.delete(listener);
    await this.#endIfIdle();
  }

  /** Before this returns the kernel has it: no later death of this process undoes it. */
  tell(message: Told): void {
    this.#roster.note(message);
    const isNew = message.type === 'lease' || message.type === 'group';
    if (this.#running !== undefined && !this.#running.isEnding) this.#write(this.#running, message);
    else if (isNew && this.#restart === undefined && !this.#refused) this.#start();
    if (message.type === 'release') void this.#endIfIdle();
  }

  dropStore(store: number): void {
    this.#roster.dropStore(store);
  }

  async #endIfIdle(): Promise<void> {
    if (this.#listeners.size > 0 || !this.#roster.isEmpty) return;
    clearTimeout(this.#restart);
    this.#restart = undefined;
    const running = this.#running;
    if (running === undefined) return;
    this.#write(running, { type: 'end' });
    running.isEnding = true;
    this.#running = undefined;
    running.child.ref();
    const late = setTimeout(() => running.child.kill('SIGKILL'), END_MS);
    await running.ended;
    clearTimeout(late);
  }

  #start(): void {
    clearTimeout(this.#restart);
    this.#restart = undefined;
    let started: Started;
    try {
      started = this.#options.start(this.#isLean);
    } catch (error) {
      this.#lost({ error });
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const running: Running = { ...started, ended: promise, startedAt: performance.now(), isReady: false, isEnding: false };
    this.#running = running;
    this.#listenTo(running, resolve);
    for (const message of [this.#options.parent, ...this.#roster.all()]) this.#write(running, message);
  }

  #listenTo(running: Running, ended: () => void): void {
    const { child, pipe } = running;
    const over = (fields: Readonly<Record<string, unknown>>): void => {
      ended();
      pipe?.destroy();
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#isLean = running.isReady;
      this.#lost({ livedMs: performance.now() - running.startedAt, ...fields });
    };
    child.once('error', (error) => over({ error }));
    // After all that it has told was read: its last word may be that it can never help.
    child.once('close', (code, signal) => over({ code, signal }));
    if (pipe === undefined) return;
    // It cannot be told anything any more, and must not act on what it knows.
    pipe.on('error', () => child.kill('SIGKILL'));
    pipe.once('close', () => child.kill('SIGKILL'));
    pipe.setEncoding('utf8');
    pipe.on(
      'data',
      linesTo((line) => this.#hear(running, line)),
    );
  }

  #hear(running: Running, line: string): void {
    const telling = readTelling(line);
    if (telling.type === 'refused') {
      this.#refused = true;
      this.#tellLoss({ why: telling.why });
      return;
    }
    running.isReady = true;
    this.#isLossTold = false;
    for (const listener of this.#listeners) listener.emit('reaperReady', { pid: running.child.pid });
  }

  #lost({ livedMs = 0, ...fields }: Readonly<Record<string, unknown>> & { readonly livedMs?: number }): void {
    if (this.#refused || this.#roster.isEmpty) return;
    if (livedMs > LAST_RESTART_MS) this.#restartMs = FIRST_RESTART_MS;
    const restartMs = this.#restartMs;
    this.#restartMs = Math.min(2 * restartMs, LAST_RESTART_MS);
    this.#restart = setTimeout(() => this.#start(), restartMs).unref();
    this.#tellLoss({ ...fields, nextInMs: restartMs });
  }

  #tellLoss(fields: Readonly<Record<string, unknown>>): void {
    if (this.#isLossTold) return;
    this.#isLossTold = true;
    for (const listener of this.#listeners) listener.emit('reaperLost', fields);
  }

  #write({ pipe, child }: Running, message: Told): void {
    if ((pipe?.writableLength ?? 0) > MAX_UNREAD) child.kill('SIGKILL');
    else pipe?.write(writeLine(message));
  }
}
