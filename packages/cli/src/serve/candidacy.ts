/**
 * One client's part in an election: how long it lasts without a request of the client, until when
 * the client may act as the leader, and when the work of its term has stopped.
 *
 * `validForMs` is a promise to a process that this one cannot stop. The client may act as the
 * leader for that time, even if it is paused meanwhile, and even if its leadership ends meanwhile.
 * So a promise is never longer than the drain of a term: when the term ends, its keys stay until
 * the last promise is over, or until the client reports that its work has stopped.
 */

import { type Cancel, type Clock, isIncumbentError, type Leadership, type LeadershipEndReason } from '@incumbent/core';

import { showDuration } from '../common/duration.ts';
import { ApiError } from './api-error.ts';
import type { CandidacyDocument, CandidacyEvent, OverReason } from './documents.ts';
import { isSecret, newSecret } from './secret.ts';
import { SilenceTimer } from './silence-timer.ts';

/**
 * A timer of Node may run too early, by less than this, in ms. So a promise is shorter than the
 * drain by this, and the wait for the end of a promise is longer by this.
 */
const TIMER_SLACK_MS = 5;
/** How long a candidacy that a stream alone keeps waits for its first stream, in ms. */
export const CONNECT_WITHIN_MS = 10_000;

export interface CandidacySettings {
  /** The value that the candidacy publishes while it leads. */
  readonly value?: unknown;
  /** Null: the event stream alone keeps the candidacy. */
  readonly renewWithinMs: number | null;
  /**
   * False for an application that only asks who leads: the work of its term counts as stopped when
   * the last promise has lapsed. Default true.
   */
  readonly acknowledges?: boolean;
  /** True for the candidacy of the sidecar itself, which ends with the sidecar. Default false. */
  readonly isOwn?: boolean;
  /** Called if the campaign has failed, and a retry would fail again. */
  readonly failed?: (error: unknown) => void;
}

export type OverEvent = Extract<CandidacyEvent, { event: 'over' }>;

export interface CandidacyContext {
  readonly clock: Clock;
  readonly memberId: string;
  /** The member's drain, in ms. */
  readonly drainMs: number;
  /** Called once, when the candidacy is over. The leadership may not have been released yet. */
  readonly over: (candidacy: Candidacy, event: OverEvent) => void;
  readonly elected: (candidacy: Candidacy, term: bigint) => void;
  readonly ended: (candidacy: Candidacy, term: bigint, reason: LeadershipEndReason) => void;
  /** @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value. */
  readonly checkValue: (value: unknown) => void;
  /** Called if the value could not be published. */
  readonly publishFailed: (candidacy: Candidacy, error: unknown) => void;
}

/** The term that a candidacy leads in, until its client's work has stopped. */
interface Term {
  readonly leadership: Leadership;
  readonly stopped: PromiseWithResolvers<void>;
  /** On the monotonic clock. */
  promisedUntilMs: number;
  /** The client has asked for the end of the term, and so has said that its work has stopped. */
  isGivingUp: boolean;
  acknowledged: boolean;
  /** Resolves when the candidacy has left the term. */
  readonly left: PromiseWithResolvers<void>;
}

export class Candidacy {
  readonly election: string;
  readonly id: string;
  /** Proves to the sidecar that a request is from the client that made the candidacy. */
  readonly secret: string = newSecret();
  readonly #context: CandidacyContext;
  readonly #listeners = new Set<(event: CandidacyEvent) => void>();
  #settings: CandidacySettings;
  #term: Term | undefined;
  #lastStopped = 0n;
  #streams = 0;
  /** How many requests of the client hold the candidacy. */
  #holds = 0;
  /** The event that describes the present state, for a stream that begins. */
  #present: CandidacyEvent = { event: 'waiting' };
  #over: OverEvent | undefined;
  readonly #silence: SilenceTimer;

  /** @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value. */
  constructor(context: CandidacyContext, election: string, id: string, settings: CandidacySettings) {
    context.checkValue(settings.value);
    this.#context = context;
    this.election = election;
    this.id = id;
    this.#settings = settings;
    this.#silence = new SilenceTimer(context.clock);
    this.renew();
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Whether it is the candidacy of the sidecar itself. */
  get isOwn(): boolean {
    return this.#settings.isOwn === true;
  }

  /** Why the candidacy is over. Undefined if it is not. */
  get overReason(): OverReason | undefined {
    return this.#over?.reason;
  }

  /** What ends the candidacy if its client is gone, for a message. */
  get endsWhen(): string {
    const { renewWithinMs } = this.#settings;
    if (this.isOwn) return 'ends with the sidecar';
    if (renewWithinMs === null) return 'is over when its last event stream closes';
    return `is over when no request with its secret has come for ${showDuration(renewWithinMs)}`;
  }

  /** The state at this moment. It promises the client that it leads for `validForMs`. */
  document(): CandidacyDocument {
    const { memberId: member } = this.#context;
    const term = this.#term;
    const validForMs = this.#promise(term);
    const leads = validForMs > 0;
    return {
      election: this.election,
      candidacy: this.id,
      member,
      state: this.#stateOf(term, leads),
      leads,
      ...(term === undefined ? {} : { term: term.leadership.term }),
      validForMs,
      renewWithinMs: this.#settings.renewWithinMs,
      ...(this.#awaitsAcknowledgement(term) ? { awaits: 'acknowledge' } : {}),
      ...(this.#over === undefined ? {} : { reason: this.#over.reason }),
    };
  }

  /**
   * Whether the secret is this candidacy's. Takes the same time for every wrong one of this length.
   */
  accepts(secret: string): boolean {
    return isSecret(secret, this.secret);
  }

  /** The client has sent a request: restarts `renewWithinMs`. */
  renew(): void {
    if (this.isOver || this.isOwn) return;
    this.#silence.stop();
    if (this.#holds > 0) return;
    const { renewWithinMs } = this.#settings;
    if (renewWithinMs !== null)
      this.#silence.start(renewWithinMs, () =>
        this.end('expired', `no request with its secret has come for ${showDuration(renewWithinMs)}`),
      );
    else if (this.#streams === 0)
      this.#silence.start(CONNECT_WITHIN_MS, () =>
        this.end('disconnected', `no event stream was opened within ${showDuration(CONNECT_WITHIN_MS)}`),
      );
  }

  /**
   * A request of the client is under way: until the returned function is called, the candidacy does
   * not end for want of requests. Then `renewWithinMs` starts anew.
   */
  hold(): Cancel {
    this.#holds += 1;
    this.renew();
    return () => {
      this.#holds -= 1;
      this.renew();
    };
  }

  /**
   * Changes the settings that are given. The present term keeps its published value.
   *
   * @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value.
   */
  configure(changes: Partial<Pick<CandidacySettings, 'value' | 'renewWithinMs'>>): void {
    const settings = { ...this.#settings, ...changes };
    this.#context.checkValue(settings.value);
    this.#settings = settings;
    this.renew();
  }

  /**
   * Tells the listener the present state, then every event. The candidacy is over when the last of
   * its streams closes.
   */
  openStream(listener: (event: CandidacyEvent) => void): Cancel {
    this.#listeners.add(listener);
    this.#streams += 1;
    this.renew();
    listener(this.#present);
    return () => {
      if (!this.#listeners.delete(listener)) return;
      this.#streams -= 1;
      if (this.#streams === 0) this.end('disconnected', 'its last event stream has closed');
    };
  }

  /**
   * Leads in this term. Resolves when the store holds nothing of the term any more. The work of the
   * client may not have stopped then, if it did not stop within the drain: see `workStopped`.
   */
  async lead(leadership: Leadership): Promise<void> {
    const term: Term = {
      leadership,
      stopped: Promise.withResolvers(),
      promisedUntilMs: -Infinity,
      isGivingUp: false,
      acknowledged: false,
      left: Promise.withResolvers(),
    };
    this.#term = term;
    leadership.waitUntil(term.stopped.promise);
    this.#emit({ event: 'elected', term: leadership.term });
    this.#context.elected(this, leadership.term);
    const { value } = this.#settings;
    if (value !== undefined)
      leadership.publish(value).catch((error: unknown) => {
        if (leadership.isValid()) this.#context.publishFailed(this, error);
      });
    const { reason, lost } = await leadership.ended;
    this.#emit({ event: 'ended', term: leadership.term, reason, lost });
    this.#context.ended(this, leadership.term, reason);
    if (term.isGivingUp) this.#stopped(term);
    else if (this.#settings.acknowledges === false) this.#stoppedWhenLapsed(term);
    await leadership.released;
    this.#emit({ event: 'drained', term: leadership.term, acknowledged: term.acknowledged });
  }

  /**
   * Resolves when the work of the last term has stopped: the client has reported that, or its last
   * promise is over.
   */
  async workStopped(): Promise<void> {
    const term = this.#term;
    await term?.stopped.promise;
    this.#term = undefined;
    this.#emit(this.#over ?? { event: 'waiting' });
    term?.left.resolve();
  }

  /** Called when the client reports that the work of a term has stopped. */
  acknowledge(number: bigint): void {
    const term = this.#term;
    if (term?.leadership.term !== number) {
      if (number <= this.#lastStopped) return;
      throw this.#otherTerm(number);
    }
    if (term.leadership.isValid()) throw new ApiError('STILL_LEADS', `term ${number} has not ended: resign to end it`);
    this.#stopped(term);
  }

  /** Ends the term. Calling this asserts that the client's work has stopped. */
  async resign(number: bigint): Promise<void> {
    await this.#endTerm(number, (leadership) => leadership.resign());
  }

  /** Hands the term over. Calling this asserts that the client's work has stopped. */
  async handover(number: bigint, memberId: string | undefined): Promise<void> {
    await this.#endTerm(number, (leadership) => leadership.handover(memberId));
  }

  /** The leadership of this term, for a call that needs it. */
  leadership(number: bigint): Leadership {
    if (this.#term?.leadership.term !== number) throw this.#otherTerm(number);
    this.#term.leadership.assertValid();
    return this.#term.leadership;
  }

  /** Tells the client that a renewal of the lease is overdue, or that it has come after all. */
  sawSuspect(isSuspect: boolean): void {
    const { leadership } = this.#term ?? {};
    if (leadership?.isValid() !== true || (this.#present.event === 'suspect') === isSuspect) return;
    this.#emit({ event: isSuspect ? 'suspect' : 'recovered', term: leadership.term });
  }

  /**
   * Ends the candidacy, and its leadership. With `closing`, the member ends the leadership when it
   * shuts down. If the client itself has withdrawn, the keys of the leadership are released at
   * once. Otherwise they stay until the client's work has stopped, at the latest until its last
   * promise is over. While the sidecar closes, the client can still report that, or withdraw.
   */
  end(reason: OverReason, message?: string): void {
    if (this.isOver) {
      // A client that withdraws says that its work has stopped, whatever has ended the candidacy.
      if (reason === 'withdrawn' && this.#term !== undefined) this.#stopped(this.#term);
      return;
    }
    this.#over = { event: 'over', reason, ...(message === undefined ? {} : { message }) };
    this.#silence.stop();
    this.#context.over(this, this.#over);
    const term = this.#term;
    if (term === undefined) return this.#emit(this.#over);
    if (reason === 'closing') return;
    if (reason === 'withdrawn') this.#stopped(term);
    else this.#stoppedWhenLapsed(term);
    void term.leadership.resign();
  }

  /** Ends the candidacy because its campaign has failed, and a retry would fail again. */
  fail(error: unknown): void {
    this.end('failed', isIncumbentError(error) ? `${error.code}: ${error.message}` : 'the sidecar has failed');
    this.#settings.failed?.(error);
  }

  /** Resolves when the store holds nothing of the candidacy's leadership any more. */
  async released(): Promise<void> {
    await this.#term?.leadership.released;
  }

  #promise(term: Term | undefined): number {
    if (term === undefined || term.isGivingUp || this.isOver || !term.leadership.isValid()) return 0;
    const remainingMs = Math.min(term.leadership.remainingMs(), this.#context.drainMs - TIMER_SLACK_MS);
    const promisedMs = Math.max(Math.floor(remainingMs), 0);
    term.promisedUntilMs = Math.max(term.promisedUntilMs, this.#context.clock.monotonic() + promisedMs);
    return promisedMs;
  }

  #stateOf(term: Term | undefined, leads: boolean): CandidacyDocument['state'] {
    if (leads) return term?.leadership.state === 'suspect' ? 'suspect' : 'leading';
    if (term !== undefined) return 'stopping';
    return this.isOver ? 'over' : 'waiting';
  }

  /** Whether the next step is the client's: to say that the work of this term has stopped. */
  #awaitsAcknowledgement(term: Term | undefined): boolean {
    if (term === undefined || term.acknowledged || term.isGivingUp || term.leadership.isValid()) return false;
    // While the sidecar closes, the client can still acknowledge.
    return this.#settings.acknowledges !== false && (this.#over === undefined || this.#over.reason === 'closing');
  }

  async #endTerm(number: bigint, end: (leadership: Leadership) => Promise<void>): Promise<void> {
    const leadership = this.leadership(number);
    const term = this.#term;
    if (term === undefined) return;
    term.isGivingUp = true;
    try {
      await end(leadership);
      await term.left.promise;
    } finally {
      term.isGivingUp = false;
    }
  }

  #stopped(term: Term): void {
    term.acknowledged = true;
    this.#lastStopped = term.leadership.term;
    term.stopped.resolve();
  }

  /** The client is gone, or never acknowledges: its work stops at the end of the last promise. */
  #stoppedWhenLapsed(term: Term): void {
    const leftMs = term.promisedUntilMs - this.#context.clock.monotonic() + TIMER_SLACK_MS;
    this.#context.clock.schedule(Math.max(leftMs, 0), () => term.stopped.resolve());
  }

  #otherTerm(number: bigint): ApiError {
    const term = this.#term?.leadership.term;
    const now = term === undefined ? 'leads in no term' : `is in term ${term}`;
    return new ApiError('OTHER_TERM', `the candidacy "${this.id}" ${now}, not in term ${number}`);
  }

  #emit(event: CandidacyEvent): void {
    if (event.event === 'recovered') this.#present = { event: 'elected', term: event.term };
    else if (event.event !== 'drained') this.#present = event;
    for (const listener of this.#listeners) listener(event);
  }
}
