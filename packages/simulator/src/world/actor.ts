/** One start of one process: what runs in it, and what the world sees of that. */

import { isIncumbentError, type Cancel, type Logger, type MemberOptions } from '@incumbent/core';
import { Client } from './client.ts';
import type { Handle, Left, Resource, Shown, WorldEvent } from './event.ts';
import { SimProcess } from '../time/process.ts';
import type { Led, Program, Self, Told, Watched } from '../programs/program.ts';
import type { Shape } from '../plan/plan.ts';
import { SimReaper } from './reaper.ts';
import type { SimServer } from '../store/server.ts';
import { streamOf, type Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** What an actor needs of its world. */
export interface Stage {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly calm: boolean;
  emit(event: WorldEvent): void;
  /** A process has ended by itself. */
  over(actor: Actor): void;
  /** Runs `task` somewhere else, on behalf of a process, which hears of what came of it. */
  call<T>(from: SimProcess, task: () => T): Promise<T>;
  /** A write with a term comes to the resource past the fence; the highest term seen. */
  admit(term: bigint): bigint;
}

export interface ActorOptions {
  readonly id: string;
  /** Counts the starts of this id, from 1. */
  readonly starts: number;
  readonly rate: number;
  readonly program: Program;
  readonly takesOver: boolean;
}

export class Actor implements Self {
  readonly memberId: string;
  readonly process: SimProcess;
  readonly client: Client;
  readonly random: Stream;
  readonly logger: Logger;
  readonly takesOver: boolean;
  readonly #stage: Stage;
  readonly #reaper: SimReaper | undefined;
  /** How long after it has stopped another is started in its place. */
  restartAfterMs: number | undefined;
  readonly #stopping = new AbortController();

  constructor(stage: Stage, { id, starts, rate, program, takesOver }: ActorOptions) {
    const streamFor = (what: string): Stream => streamOf(stage.seed, id, starts, what);
    this.#stage = stage;
    this.memberId = id;
    this.takesOver = takesOver;
    this.random = streamFor('program');
    this.process = new SimProcess(id, starts, stage.scheduler, { rate, random: streamFor('timers') });
    this.client = new Client(this.process, stage.server, stage.scheduler, streamFor('link'));
    this.logger = this.#loggerOf();
    const { scheduler, server, shape } = stage;
    if (shape.reaperLagMs !== undefined)
      this.#reaper = new SimReaper(this.process, { scheduler, server, random: streamFor('reaper'), lagMs: shape.reaperLagMs });
    stage.emit({ type: 'started', body: this.process });
    this.process.run(() => void this.#run(program));
  }

  get store(): Self['store'] {
    return this.client.store;
  }

  get options(): MemberOptions {
    const { ttlMs, drainMs, clockErrorRatio } = this.shape;
    const { memberId, clock, random, logger } = this;
    const reaper = this.#reaper === undefined ? {} : { reaper: this.#reaper };
    const onDuplicate = this.takesOver ? 'replace' : 'wait';
    return { memberId, ttlMs, drainMs, clockErrorRatio, onDuplicate, clock, random, logger, ...reaper };
  }

  get clock(): Self['clock'] {
    return this.process;
  }

  get shape(): Shape {
    return this.#stage.shape;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get calm(): boolean {
    return this.#stage.calm;
  }

  /** Whether its process is no more. */
  get over(): boolean {
    return this.process.state === 'dead';
  }

  leads(leadership: Watched, election: string, waits = false): Led {
    const handle: Handle = { body: this.process, election, term: leadership.term, isValid: () => leadership.isValid(), waits };
    this.#stage.emit({ type: 'elected', handle });
    const aborted = (): void => this.#stage.emit({ type: 'aborted', handle });
    if (leadership.signal.aborted) aborted();
    else leadership.signal.addEventListener('abort', aborted, { once: true });
    void leadership.ended.then(({ reason, lost, seenTerm }) =>
      this.#stage.emit({ type: 'ended', handle, reason, lost, ...(seenTerm === undefined ? {} : { seenTerm }) }),
    );
    void leadership.released.then(() => this.#stage.emit({ type: 'released', handle }));
    return { settled: () => this.#stage.emit({ type: 'settled', handle }) };
  }

  shows(view: Shown, observer?: string): void {
    this.#stage.emit({ type: 'shown', observer: this.process, view, ...(observer === undefined ? {} : { name: observer }) });
  }

  closesEyes(observer: string): void {
    this.#stage.emit({ type: 'unobserved', observer: this.process, name: observer });
  }

  streamFor(what: string): Stream {
    return streamOf(this.#stage.seed, this.process.name, 'program', what);
  }

  async call<T>(task: () => T): Promise<T> {
    return this.#stage.call(this.process, task);
  }

  async sendFenced(term: bigint): Promise<bigint> {
    return this.call(() => this.#stage.admit(term));
  }

  refused(to: Resource, term: bigint): void {
    this.#stage.emit({ type: 'refused', to, term });
  }

  tells(what: Told): void {
    this.#stage.emit({ ...what, body: this.process });
  }

  note(text: string): void {
    this.#stage.emit({ type: 'noted', body: this.process, text });
  }

  astray(error: unknown): void {
    this.#stage.emit({ type: 'astray', body: this.process, error });
  }

  async closes(task: () => Promise<void>): Promise<void> {
    const sinceMs = this.#awakeMs;
    await task();
    this.#stage.emit({ type: 'closed', body: this.process, tookMs: this.#awakeMs - sinceMs });
  }

  /** Asks it to stop, in good order. */
  stop(): void {
    this.process.run(() => this.#stopping.abort(new Error('asked to stop')));
  }

  /** Ends it here and now. */
  kill(): void {
    if (this.process.state === 'dead') return;
    this.process.kill();
    this.client.store.abandon();
    this.#stage.emit({ type: 'died', body: this.process });
    this.#reaper?.suspect();
  }

  /** It stands still, from now on until the returned function is called. */
  stand(state: 'paused' | 'blocked' | 'suspended'): Cancel {
    const resume = this.process.stop(state);
    this.#reaper?.suspect();
    return resume;
  }

  async #run(program: Program): Promise<void> {
    try {
      await program(this);
    } catch (error) {
      if (!isIncumbentError(error, 'DUPLICATE_MEMBER')) this.astray(error);
    }
    this.#stage.emit({ type: 'programEnded', body: this.process });
    // What settles right after it is not left behind.
    this.#stage.scheduler.after(1, () => this.process.run(() => this.#gone()));
  }

  /** By its monotonic clock, without the time that it stood still. */
  get #awakeMs(): number {
    return this.process.monotonic() - this.process.stoodMs;
  }

  #gone(): void {
    this.#stage.emit({ type: 'stopped', body: this.process, left: this.#left });
    // Whatever is left of it must not run on under the next start.
    this.process.kill();
    this.client.store.abandon();
    this.#stage.over(this);
  }

  get #left(): Left {
    const leases = this.#stage.server.leases.all().filter(({ owner }) => owner === this.process.name).length;
    return { ...this.process.pending, watches: this.client.store.watches, leases };
  }

  #loggerOf(): Logger {
    const log = (fields: object, message: string): void =>
      this.#stage.emit({ type: 'logged', body: this.process, message, ...aboutOf(fields) });
    return { debug: log, info: log, warn: log, error: log };
  }
}

/** The election and the term that a logged event names. */
function aboutOf(fields: object): { readonly election?: string; readonly term?: string } {
  return {
    ...('election' in fields && typeof fields.election === 'string' ? { election: fields.election } : {}),
    ...('term' in fields && typeof fields.term === 'string' ? { term: fields.term } : {}),
  };
}
