/** One start of one process: its program, and what the world sees of it. */

import { isIncumbentError, type Cancel, type Logger, type MemberOptions } from '@incumbent/core';
import { Client } from './client.ts';
import type { LeadershipView, Leftovers, Resource, ObserverView, WorldEvent } from './event.ts';
import { SimProcess } from '../time/process.ts';
import type { WorkReport, Program, ProgramContext, ProgramReport, ReportedLeadership } from '../programs/program.ts';
import type { Shape } from '../plan/plan.ts';
import { SimReaper } from './reaper.ts';
import { SimRenewer } from './renewer.ts';
import type { SimServer } from '../store/server.ts';
import { streamOf, type Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** What an actor needs of its world. */
export interface ActorContext {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly calm: boolean;
  emit(event: WorldEvent): void;
  /** The process has ended by itself. */
  over(actor: Actor): void;
  /** Runs `task` outside the process on its behalf. The process receives the result. */
  call<T>(from: SimProcess, task: () => T): Promise<T>;
  /**
   * Sends a write with a term to the resource behind the fence. Returns the highest term that the
   * fence has seen.
   */
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

export class Actor implements ProgramContext {
  readonly memberId: string;
  readonly process: SimProcess;
  readonly client: Client;
  readonly random: Stream;
  readonly logger: Logger;
  readonly takesOver: boolean;
  readonly #context: ActorContext;
  readonly #reaper: SimReaper | undefined;
  readonly #renewer: SimRenewer | undefined;
  /** How long after it has stopped the next start follows, in ms. */
  restartAfterMs: number | undefined;
  readonly #stopping = new AbortController();

  constructor(context: ActorContext, { id, starts, rate, program, takesOver }: ActorOptions) {
    const streamFor = (what: string): Stream => streamOf(context.seed, id, starts, what);
    this.#context = context;
    this.memberId = id;
    this.takesOver = takesOver;
    this.random = streamFor('program');
    this.process = new SimProcess(id, starts, context.scheduler, { rate, random: streamFor('timers') });
    this.client = new Client(this.process, context.server, context.scheduler, streamFor('link'));
    this.logger = this.#loggerOf();
    const { scheduler, server, shape } = context;
    if (shape.reaperLagMs !== undefined)
      this.#reaper = new SimReaper(this.process, { scheduler, server, random: streamFor('reaper'), lagMs: shape.reaperLagMs });
    if (shape.renewed === true) this.#renewer = new SimRenewer(this.process, { scheduler, server, random: streamFor('renewer') });
    context.emit({ type: 'started', process: this.process });
    this.process.run(() => void this.#run(program));
  }

  get store(): ProgramContext['store'] {
    return this.client.store;
  }

  get options(): MemberOptions {
    const { ttlMs, drainMs, clockErrorRatio } = this.shape;
    const { memberId, clock, random, logger } = this;
    const reaper = this.#reaper === undefined ? {} : { reaper: this.#reaper };
    const renewer = this.#renewer === undefined ? {} : { renewIn: this.#renewer };
    const onDuplicate = this.takesOver ? 'replace' : 'wait';
    return { memberId, ttlMs, drainMs, clockErrorRatio, onDuplicate, clock, random, logger, ...reaper, ...renewer };
  }

  get clock(): ProgramContext['clock'] {
    return this.process;
  }

  get shape(): Shape {
    return this.#context.shape;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get calm(): boolean {
    return this.#context.calm;
  }

  /** Whether the process has ended. */
  get over(): boolean {
    return this.process.state === 'dead';
  }

  reportLeadership(leadership: ReportedLeadership, election: string, waits = false): WorkReport {
    const handle: LeadershipView = {
      process: this.process,
      election,
      term: leadership.term,
      isValid: () => leadership.isValid(),
      remainingMs: () => leadership.remainingMs(),
      get state() {
        return leadership.state;
      },
      waits,
    };
    this.#context.emit({ type: 'elected', handle });
    const aborted = (): void => this.#context.emit({ type: 'aborted', handle });
    if (leadership.signal.aborted) aborted();
    else leadership.signal.addEventListener('abort', aborted, { once: true });
    void leadership.ended.then(({ reason, lost, seenTerm }) =>
      this.#context.emit({ type: 'ended', handle, reason, lost, ...(seenTerm === undefined ? {} : { seenTerm }) }),
    );
    void leadership.released.then(() => this.#context.emit({ type: 'released', handle }));
    return { workStopped: () => this.#context.emit({ type: 'workStopped', handle }) };
  }

  reportView(view: ObserverView, observer?: string): void {
    this.#context.emit({ type: 'shown', observer: this.process, view, ...(observer === undefined ? {} : { name: observer }) });
  }

  reportObserverClosed(observer: string): void {
    this.#context.emit({ type: 'observerClosed', observer: this.process, name: observer });
  }

  streamFor(what: string): Stream {
    return streamOf(this.#context.seed, this.process.name, 'program', what);
  }

  async call<T>(task: () => T): Promise<T> {
    return this.#context.call(this.process, task);
  }

  async sendFenced(term: bigint): Promise<bigint> {
    return this.call(() => this.#context.admit(term));
  }

  reportRefused(to: Resource, term: bigint): void {
    this.#context.emit({ type: 'refused', to, term });
  }

  report(what: ProgramReport): void {
    this.#context.emit({ ...what, process: this.process });
  }

  note(text: string): void {
    this.#context.emit({ type: 'noted', process: this.process, text });
  }

  reportError(error: unknown): void {
    this.#context.emit({ type: 'unexpectedError', process: this.process, error });
  }

  async measureClose(task: () => Promise<void>): Promise<void> {
    const sinceMs = this.#awakeMs;
    await task();
    this.#context.emit({ type: 'closed', process: this.process, tookMs: this.#awakeMs - sinceMs });
  }

  /** Asks the program to stop in good order. */
  stop(): void {
    this.process.run(() => this.#stopping.abort(new Error('asked to stop')));
  }

  /** Ends the process at once. */
  kill(): void {
    if (this.process.state === 'dead') return;
    this.process.kill();
    this.client.store.abandon();
    this.#context.emit({ type: 'died', process: this.process });
    this.#reaper?.suspect();
  }

  /** Stops the process until the returned function is called. */
  halt(state: 'paused' | 'blocked' | 'suspended'): Cancel {
    const resume = this.process.stop(state);
    this.#reaper?.suspect();
    return resume;
  }

  async #run(program: Program): Promise<void> {
    try {
      await program(this);
    } catch (error) {
      if (!isIncumbentError(error, 'DUPLICATE_MEMBER')) this.reportError(error);
    }
    this.#context.emit({ type: 'programEnded', process: this.process });
    // Promises that settle right after the end do not count as left behind.
    this.#context.scheduler.after(1, () => this.process.run(() => this.#gone()));
  }

  /** The time by its monotonic clock, without the time in which it was stopped. */
  get #awakeMs(): number {
    return this.process.monotonic() - this.process.stoodMs;
  }

  #gone(): void {
    this.#context.emit({ type: 'stopped', process: this.process, left: this.#left });
    // Nothing of this process may run during the next start.
    this.process.kill();
    this.client.store.abandon();
    this.#context.over(this);
  }

  get #left(): Leftovers {
    const leases = this.#context.server.leases.all().filter(({ owner }) => owner === this.process.name).length;
    return { ...this.process.pending, watches: this.client.store.watches, leases };
  }

  #loggerOf(): Logger {
    const log = (fields: object, message: string): void =>
      this.#context.emit({ type: 'logged', process: this.process, message, ...aboutOf(fields) });
    return { debug: log, info: log, warn: log, error: log };
  }
}

/** The election, the term and the reason that a logged event names. */
function aboutOf(fields: object): { readonly election?: string; readonly term?: string; readonly reason?: string } {
  return {
    ...('election' in fields && typeof fields.election === 'string' ? { election: fields.election } : {}),
    ...('term' in fields && typeof fields.term === 'string' ? { term: fields.term } : {}),
    ...('reason' in fields && typeof fields.reason === 'string' ? { reason: fields.reason } : {}),
  };
}
