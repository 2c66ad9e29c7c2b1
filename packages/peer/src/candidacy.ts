/** A member's campaigns, one at a time, and the leaderships that come of them. */

import { type Clock, IncumbentError } from '@incumbent/core';
import { keepAlive, orAborted, type Telemetry } from '@incumbent/core/adapter';
import type { Belief, PeerEndReason, Safety } from './algorithm.ts';
import type { Driver } from './driver.ts';
import { PeerLeadership } from './leadership.ts';
import { begin, isEnd, served, unwrap, type Work } from './work.ts';

export interface CandidacyContext<S extends Safety> {
  readonly memberId: string;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Aborts when the member takes part no more. */
  readonly closing: AbortSignal;
  /** Takes part, if it does not yet. */
  readonly start: () => Promise<Driver<S>>;
}

export class Candidacy<S extends Safety> {
  readonly #context: CandidacyContext<S>;
  #campaign: { readonly signal: AbortSignal | undefined } | undefined;
  #elected: ((leadership: PeerLeadership<S>) => void) | undefined;
  #leadership: PeerLeadership<S> | undefined;
  /** The latest work of `lead`: settled, or under way, or stuck. */
  #work: Promise<unknown> = Promise.resolve();
  /** Resolves when no campaign is under way. */
  #winding: Promise<void> = Promise.resolve();

  constructor(context: CandidacyContext<S>) {
    this.#context = context;
  }

  /** The leadership that is held now. */
  get leadership(): PeerLeadership<S> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /** Stands until elected. */
  async campaign(signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    return this.#alone(signal, () => this.#elect(signal));
  }

  /** Campaigns, runs `work` for as long as it leads, and begins anew, until work is over that still led. */
  async lead<T>(work: Work<S, T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#alone(signal, async () => {
      for (;;) {
        const done = await this.#tenure(work, await this.#elect(signal), signal);
        if (done !== undefined) return done.value;
      }
    });
  }

  /** Elected. A leadership that nobody waits for any more is resigned. */
  take(driver: Driver<S>, belief: Belief<S>): void {
    const { memberId, clock, telemetry } = this.#context;
    const leadership = new PeerLeadership<S>({ memberId, driver, clock, telemetry, belief });
    this.#leadership = leadership;
    leadership.report();
    if (this.#elected === undefined) void leadership.resign();
    else this.#elected(leadership);
  }

  /** Belief has ended. */
  finish(reason: PeerEndReason, belief: Belief<S>): void {
    this.#leadership?.finish(reason, belief);
  }

  /** The latest leadership, if there was one, is given up in this way, or was before. */
  async giveUp(how: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    if (this.#leadership !== undefined) await how(this.#leadership);
  }

  /** One campaign at a time; but whoever has aborted one may begin another at once. */
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

  /** The campaign before is over by then, its leadership released, and its work has stopped. */
  async #elect(signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const driver = await this.#unless(signal, () => this.#context.start());
    await this.#unless(signal, () => this.#winding);
    for (;;) {
      await this.#unless(signal, () => Promise.all([this.#leadership?.released, this.#work]));
      const leadership = await this.#stand(driver, signal);
      // It may have ended in the moment since it was elected.
      if (leadership.isValid()) return leadership;
    }
  }

  async #stand(driver: Driver<S>, signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const [elected, over] = [Promise.withResolvers<PeerLeadership<S>>(), Promise.withResolvers<void>()];
    this.#winding = over.promise;
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

  /** One leadership of `lead`; undefined when it is to campaign again. */
  async #tenure<T>(
    work: Work<S, T>,
    leadership: PeerLeadership<S>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value: T } | undefined> {
    const result = begin(work, leadership);
    this.#work = result;
    const reason = await served(leadership, result, signal);
    // Work that is stuck keeps this member from campaigning, but not its caller from giving up.
    const settled = await this.#unless(signal, () => result);
    if (reason === 'resigned') return unwrap(settled);
    if ('error' in settled && !isEnd(settled.error))
      this.#context.telemetry.emit('workFailed', { term: leadership.term, error: settled.error });
    return undefined;
  }

  /** Settles as the task does; unless the signal aborts, or the member ends, before. Where that is so already, nothing is begun. */
  async #unless<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const { closing } = this.#context;
    signal?.throwIfAborted();
    closing.throwIfAborted();
    return orAborted(orAborted(task(), closing), signal);
  }
}
