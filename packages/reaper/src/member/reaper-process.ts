/**
 * Runs the one reaper process of this process: starts it with the first lease or group, starts
 * another if it dies and sends it everything again, and ends it when no member needs it any more.
 */

import type { ReapedMember } from '@incumbent/core';

import { parseReaperMessage, serializeMessage, splitLines, type ParentMessage, type ReaperMessage } from '../messages.ts';
import { ReplayLog } from './replay-log.ts';
import type { SpawnedReaper } from '../spawn.ts';

type Listener = Pick<ReapedMember, 'emit'>;

export interface ReaperProcessOptions {
  /** `lean` is false after a reaper process that ended before it was ready. */
  readonly start: (lean: boolean) => SpawnedReaper;
  /** The first message to every reaper process. */
  readonly parent: ParentMessage;
}

/**
 * Delay before another reaper process is started, in ms: the first, doubled each time up to the
 * longest. A reaper process that lived for longer than the longest delay resets it.
 */
const FIRST_RESTART_MS = 1_000;
const LONGEST_RESTART_MS = 60_000;

/** A reaper process that was asked to end is killed after so long, in ms. */
const END_TIMEOUT_MS = 1_000;

/** A reaper process that is not ready after so long, in ms, is stopped or stuck, and is killed. */
const READY_TIMEOUT_MS = 30_000;

/**
 * A reaper process that leaves more bytes than this unread, not counting those that it had not read
 * when it was ready, is stopped or stuck, and is killed.
 */
const MAX_UNREAD_BYTES = 2 ** 20;

interface Running extends SpawnedReaper {
  readonly ended: Promise<void>;
  readonly startedAt: number;
  isReady: boolean;
  /**
   * Infinity until the process is ready: nothing is read while it starts, and the stores of many
   * members need much space.
   */
  maxUnreadBytes: number;
  isEnding: boolean;
}

export class ReaperProcess {
  readonly #options: ReaperProcessOptions;
  readonly #log = new ReplayLog();
  readonly #listeners = new Set<Listener>();
  #running: Running | undefined;
  #restart: NodeJS.Timeout | undefined;
  #restartMs = FIRST_RESTART_MS;
  #isLean = true;
  /**
   * The reaper process has refused, because it could never prove the parent's death. No other one
   * is started.
   */
  #isRefused = false;
  /**
   * What happened to the last reaper process; undefined once another one is ready. Every member is
   * notified of one loss only until then.
   */
  #loss: Readonly<Record<string, unknown>> | undefined;

  constructor(options: ReaperProcessOptions) {
    this.#options = options;
  }

  /** The id of the reaper process; undefined while none runs. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Adds a listener, and notifies it at once if a reaper process is ready or lost. */
  addListener(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#running?.isReady === true) listener.emit('reaperReady', { pid: this.pid });
    else if (this.#loss !== undefined) listener.emit('reaperLost', this.#loss);
  }

  /**
   * If it was the last listener and no group is bound, resolves when the reaper process has ended.
   */
  async removeListener(listener: Listener): Promise<void> {
    this.#listeners.delete(listener);
    await this.#endIfIdle();
  }

  /**
   * Sends a message to the reaper process, and starts one if the message needs it. The kernel has
   * the message before this returns, so it arrives even if this process dies right after.
   */
  send(message: ParentMessage): void {
    this.#log.add(message);
    const needsProcess = message.type === 'lease' || message.type === 'group';
    if (this.#running !== undefined && !this.#running.isEnding) this.#write(this.#running, message);
    else if (needsProcess && this.#restart === undefined && !this.#isRefused) this.#start();
    if (message.type === 'release') void this.#endIfIdle();
  }

  async #endIfIdle(): Promise<void> {
    if (this.#listeners.size > 0 || !this.#log.isEmpty) return;
    if (!this.#isRefused) this.#loss = undefined;
    clearTimeout(this.#restart);
    this.#restart = undefined;
    const running = this.#running;
    if (running === undefined) return;
    this.#write(running, { type: 'end' });
    running.isEnding = true;
    this.#running = undefined;
    running.child.ref();
    const killTimer = setTimeout(() => running.child.kill('SIGKILL'), END_TIMEOUT_MS);
    await running.ended;
    clearTimeout(killTimer);
  }

  #start(): void {
    clearTimeout(this.#restart);
    this.#restart = undefined;
    let started: SpawnedReaper;
    try {
      started = this.#options.start(this.#isLean);
    } catch (error) {
      this.#lost({ error });
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const running: Running = {
      ...started,
      ended: promise,
      startedAt: performance.now(),
      isReady: false,
      maxUnreadBytes: Infinity,
      isEnding: false,
    };
    this.#running = running;
    this.#listenTo(running, resolve);
    for (const message of [this.#options.parent, ...this.#log.messages()]) this.#write(running, message);
  }

  #listenTo(running: Running, ended: () => void): void {
    const { child, pipe } = running;
    const killUnlessReady = (): void => {
      if (!running.isReady) child.kill('SIGKILL');
    };
    // If the event loop was blocked, the message "ready" is read before the immediate runs.
    const readyTimer = setTimeout(() => setImmediate(killUnlessReady), READY_TIMEOUT_MS).unref();
    const onEnd = (fields: Readonly<Record<string, unknown>>): void => {
      ended();
      clearTimeout(readyTimer);
      pipe?.destroy();
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#isLean = running.isReady;
      this.#lost({ livedMs: performance.now() - running.startedAt, ...fields });
    };
    child.once('error', (error) => onEnd({ error }));
    // 'close', not 'exit': its last message, which may be a refusal, has been read by then.
    child.once('close', (code, signal) => onEnd({ code, signal }));
    if (pipe === undefined) return;
    // Without the pipe it gets no more messages, and must not act on outdated ones.
    pipe.on('error', () => child.kill('SIGKILL'));
    pipe.once('close', () => child.kill('SIGKILL'));
    pipe.setEncoding('utf8');
    pipe.on(
      'data',
      splitLines((line) => this.#receive(running, line)),
    );
  }

  #receive(running: Running, line: string): void {
    let message: ReaperMessage | undefined;
    try {
      message = parseReaperMessage(line);
    } catch {
      running.child.kill('SIGKILL');
      return;
    }
    if (message === undefined) return;
    if (message.type === 'refused') {
      this.#isRefused = true;
      this.#reportLoss({ why: message.why });
      return;
    }
    running.isReady = true;
    running.maxUnreadBytes = unreadBytes(running) + MAX_UNREAD_BYTES;
    this.#loss = undefined;
    for (const listener of this.#listeners) listener.emit('reaperReady', { pid: running.child.pid });
  }

  #lost({ livedMs = 0, ...fields }: Readonly<Record<string, unknown>> & { readonly livedMs?: number }): void {
    if (this.#isRefused || this.#log.isEmpty) return;
    if (livedMs > LONGEST_RESTART_MS) this.#restartMs = FIRST_RESTART_MS;
    const restartMs = this.#restartMs;
    this.#restartMs = Math.min(2 * restartMs, LONGEST_RESTART_MS);
    this.#restart = setTimeout(() => this.#start(), restartMs).unref();
    this.#reportLoss({ ...fields, nextInMs: restartMs });
  }

  #reportLoss(fields: Readonly<Record<string, unknown>>): void {
    const isReported = this.#loss !== undefined;
    this.#loss = fields;
    if (isReported) return;
    for (const listener of this.#listeners) listener.emit('reaperLost', fields);
  }

  #write(running: Running, message: ParentMessage): void {
    if (unreadBytes(running) > running.maxUnreadBytes) running.child.kill('SIGKILL');
    else running.pipe?.write(serializeMessage(message));
  }
}

function unreadBytes({ pipe }: Running): number {
  return pipe?.writableLength ?? 0;
}
