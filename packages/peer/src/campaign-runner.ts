/**
 * Runs a member's campaigns, one at a time, and keeps the leadership that the latest one has won.
 */

import { type Clock, IncumbentError, isIncumbentError, type SignalOptions } from '@incumbent/core';
import { checkSignal, isAbort, keepAlive, orAborted, type Telemetry, withHandled } from '@incumbent/core/adapter';
import type { Validity, PeerEndReason, Safety } from './algorithm.ts';
import type { Driver } from './driver.ts';
import { PeerLeadership } from './leadership.ts';
import { type Result, startWork, untilReleased, unwrap, type Work } from './work.ts';

export interface CampaignRunnerContext<S extends Safety> {
  readonly memberId: string;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Aborts when the member closes or fails. */
  readonly closing: AbortSignal;
  /** Makes the member take part, if it does not yet. */
  readonly start: () => Promise<Driver<S>>;
}

export class CampaignRunner<S extends Safety> {
  readonly #context: CampaignRunnerContext<S>;
  #campaign: { readonly signal: AbortSignal | undefined } | undefined;
  #elected: ((leadership: PeerLeadership<S>) => void) | undefined;
  #leadership: PeerLeadership<S> | undefined;
  /** Settles with the latest work of `lead`. */
  #work: Promise<unknown> = Promise.resolve();
  /** Resolves when no campaign is under way. */
  #campaignOver: Promise<void> = Promise.resolve();

  constructor(context: CampaignRunnerContext<S>) {
    this.#context = context;
  }

  /** The leadership that the member holds now. */
  get leadership(): PeerLeadership<S> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /** Campaigns until elected. */
  campaign(options: SignalOptions): Promise<PeerLeadership<S>> {
    const elected = this.#campaignOnce(options);
    // An orderly stop must not end a program that does not await its campaign.
    return withHandled(elected, (error) => this.#isClosing(error));
  }

  /**
   * Campaigns and runs `work`, again and again, until the work ends while the member still leads.
   * Undefined if the member closes.
   */
  async lead<T>(work: Work<S, T>, signal: AbortSignal | undefined): Promise<T | undefined> {
    try {
      return await this.#alone(signal, () => this.#leadUntilDone(work, signal));
    } catch (error) {
      if (this.#isClosing(error)) return undefined;
      throw error;
    }
  }

  /**
   * The driver calls this on election. Resigns at once if the member is closing, or no caller waits
   * for the leadership any more.
   */
  take(driver: Driver<S>, validity: Validity<S>): void {
    const { memberId, clock, telemetry, closing } = this.#context;
    const leadership = new PeerLeadership<S>({ memberId, driver, clock, telemetry, validity });
    this.#leadership = leadership;
    leadership.report();
    if (this.#elected === undefined || closing.aborted) void leadership.resign();
    else this.#elected(leadership);
  }

  /** The driver calls this when the leadership is no longer valid. */
  finish(reason: PeerEndReason, validity: Validity<S>): void {
    this.#leadership?.finish(reason, validity);
  }

  /** Ends the latest leadership in the given way. Does nothing if there was none. */
  async close(how: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    if (this.#leadership !== undefined) await how(this.#leadership);
  }

  /** Runs one campaign at a time. A caller that has aborted one may start another at once. */
  async #alone<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const { memberId, clock, closing } = this.#context;
    closing.throwIfAborted();
    const isRunning = this.#campaign !== undefined && this.#campaign.signal?.aborted !== true;
    if (isRunning || this.leadership !== undefined)
      throw new IncumbentError('ALREADY_CAMPAIGNING', `the member "${memberId}" already campaigns, or leads`);
    const campaign = { signal };
    this.#campaign = campaign;
    try {
      return await keepAlive(clock, task);
    } finally {
      if (this.#campaign === campaign) this.#campaign = undefined;
    }
  }

  /**
   * Begins when the previous campaign is over, its leadership is released, and its work has
   * stopped.
   */
  async #elect(signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const driver = await this.#unless(signal, () => this.#context.start());
    await this.#unless(signal, () => this.#campaignOver);
    for (;;) {
      const former = this.#leadership;
      await this.#unless(signal, () => Promise.all([former?.released.then(() => former.drain.leadSettled()), this.#work]));
      const leadership = await this.#runCampaign(driver, signal);
      // The leadership may have ended since the election.
      if (leadership.isValid()) return leadership;
    }
  }

  async #runCampaign(driver: Driver<S>, signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const [elected, over] = [Promise.withResolvers<PeerLeadership<S>>(), Promise.withResolvers<void>()];
    this.#campaignOver = over.promise;
    this.#elected = elected.resolve;
    driver.command({ type: 'campaign' });
    try {
      return await this.#unless(signal, () => elected.promise);
    } catch (error) {
      driver.command({ type: 'withdraw' });
      void elected.promise.then((leadership) => leadership.resign());
      throw error;
    } finally {
      this.#elected = undefined;
      over.resolve();
    }
  }

  async #campaignOnce(options: SignalOptions): Promise<PeerLeadership<S>> {
    const signal = checkSignal(options);
    return this.#alone(signal, () => this.#elect(signal));
  }

  async #leadUntilDone<T>(work: Work<S, T>, signal: AbortSignal | undefined): Promise<T> {
    for (;;) {
      const done = await this.#leadOnce(work, await this.#elect(signal), signal);
      if (done !== undefined) return done.value;
    }
  }

  /** Whether this is the error of a call that an orderly end of the member has interrupted. */
  #isClosing(error: unknown): boolean {
    const { closing } = this.#context;
    return closing.aborted && error === closing.reason && isIncumbentError(error, 'MEMBER_CLOSED');
  }

  /** One leadership of `lead`. Undefined: campaign again. */
  async #leadOnce<T>(
    work: Work<S, T>,
    leadership: PeerLeadership<S>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value: T } | undefined> {
    const result = startWork(work, leadership);
    this.#work = result;
    const reason = await untilReleased(leadership, result, signal);
    const reportFailure = (settled: Result<T>, campaignsAgain: boolean): void => {
      if (!('error' in settled) || isAbort(settled.error, [signal, this.#context.closing])) return;
      this.#context.telemetry.emit('workFailed', { term: leadership.term, error: settled.error, campaignsAgain });
    };
    // Work that never ends keeps this member from campaigning, but does not stop its caller from
    // aborting.
    const settled = await this.#unless(signal, () => result).catch((givenUp: unknown) => {
      // The caller gets the reason for giving up, so the error of the work would be lost.
      void result.then((late) => reportFailure(late, false));
      throw givenUp;
    });
    if (reason === 'resigned' || reason === 'workFailed') return unwrap(settled);
    reportFailure(settled, true);
    return undefined;
  }

  /**
   * Settles like the task, or rejects when the signal aborts or the member closes, whichever comes
   * first.
   */
  async #unless<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const { closing } = this.#context;
    signal?.throwIfAborted();
    closing.throwIfAborted();
    return orAborted(orAborted(task(), closing), signal);
  }
}
