/** One member's campaign for one partition, and the moves of its leadership to another member. */

import { type Cancel, type Clock, type Election, type Leadership, type LeadOptions, sleep } from '@incumbent/core';
import { isRetryable, onAbort } from '@incumbent/core/adapter';

/** A leadership of one partition. */
export type PartitionLeadership<V = unknown> = Leadership<V> & {
  /** The index of the partition, from 0 to one less than the number of partitions. */
  readonly partition: number;
};

/**
 * How often a leader tries to hand its partition over to the preferred member, in ms. A new leader
 * also waits for this time first: two members that have seen different lists of members may each
 * prefer the other one for a moment.
 */
const MOVE_EVERY_MS = 1_000;

/**
 * How long a member waits before it campaigns again for a partition that its work resigned, in ms.
 */
const RETURN_AFTER_MS = 1_000;

/** What a member does for each partition that it leads. */
export type PartitionWork<V> = (leadership: PartitionLeadership<V>) => unknown;

/** One call of `lead`. */
export interface Job<V> {
  readonly work: PartitionWork<V>;
  readonly retry: LeadOptions['retry'];
  /** Aborts when the call ends. */
  readonly over: AbortSignal;
  /** Aborts when the call ends or the member closes. */
  readonly leaving: AbortSignal;
  /** Ends the call. */
  readonly fail: (error: unknown) => void;
}

/** What a campaign needs. */
export interface CampaignContext<V> extends Job<V> {
  readonly partition: number;
  readonly election: Election<V>;
  readonly clock: Clock;
  /** The former campaign for this partition. */
  readonly after: Promise<void> | undefined;
}

/** The campaign for one partition, and the leaderships that come from it. */
export class PartitionCampaign<V> {
  /** Resolves when this member has stopped campaigning and leading. Never rejects. */
  readonly done: Promise<void>;
  readonly #context: CampaignContext<V>;
  readonly #withdrawal = new AbortController();
  readonly #stop: Cancel;
  #preferred = '';
  #isCandidate = true;
  #leadership: PartitionLeadership<V> | undefined;
  /** Resolves when the work of the leadership has settled. */
  #working: Promise<unknown> = Promise.resolve();
  #isMoving = false;
  /** Whether `#move` has called `handover`, which has not settled. */
  #isHandingOver = false;

  constructor(context: CampaignContext<V>) {
    this.#context = context;
    this.#stop = onAbort(context.over, () => this.#withdrawal.abort());
    this.done = this.#campaign();
  }

  get leadership(): PartitionLeadership<V> | undefined {
    return this.#leadership;
  }

  get isWithdrawn(): boolean {
    return this.#withdrawal.signal.aborted;
  }

  /**
   * `preferred`: the member that shall lead. `isCandidate`: whether this member shall lead or wait.
   * A member that does neither leads on until the preferred member takes over.
   */
  assign(preferred: string, isCandidate: boolean): void {
    this.#preferred = preferred;
    this.#isCandidate = isCandidate;
    if (!isCandidate && this.#leadership === undefined) this.#withdrawal.abort();
    void this.#move();
  }

  async #campaign(): Promise<void> {
    const { election, clock, leaving, after, fail } = this.#context;
    const { signal } = this.#withdrawal;
    try {
      await after;
      const options = { signal, retry: (error: unknown) => this.#retries(error) };
      // Undefined when the member has closed. Otherwise the work has resigned the partition itself.
      while ((await election.lead((leadership) => this.#lead(leadership), options)) !== undefined) {
        await sleep(clock, RETURN_AFTER_MS, leaving);
      }
    } catch (error) {
      if (error !== signal.reason) fail(error);
    } finally {
      this.#stop();
    }
  }

  /**
   * Whether `election.lead` campaigns again after this error of the work. Withdraws if another
   * member shall lead.
   */
  #retries(error: unknown): boolean {
    const { retry = isRetryable } = this.#context;
    const isAccepted = retry !== false && retry(error);
    if (isAccepted && !this.#isCandidate) this.#withdrawal.abort();
    return isAccepted;
  }

  async #lead(elected: Leadership<V>): Promise<true> {
    const leadership = Object.assign(elected, { partition: this.#context.partition });
    this.#leadership = leadership;
    void leadership.ended.then(({ lost }) => this.#onEnd(lost));
    const working = this.#work(leadership);
    this.#working = Promise.allSettled([working]);
    void this.#pause(leadership).then(() => this.#move());
    try {
      await working;
      await leadership.ended;
      return true;
    } finally {
      this.#leadership = undefined;
      // The leadership is still valid after work that threw: `election.lead` handles that error.
      if (!this.#isCandidate && !leadership.isValid()) this.#withdrawal.abort();
    }
  }

  /** A leadership may be lost after its work has thrown: a fence refused its term. */
  #onEnd(lost: boolean): void {
    if (lost && !this.#isCandidate) this.#withdrawal.abort();
  }

  async #work(leadership: PartitionLeadership<V>): Promise<void> {
    await this.#context.work(leadership);
  }

  /** Hands the partition over to the preferred member as soon as that one is a candidate. */
  async #move(): Promise<void> {
    if (this.#isMoving) return;
    this.#isMoving = true;
    let tried: PartitionLeadership<V> | undefined;
    for (let leadership = this.#toMove; leadership !== undefined; leadership = this.#toMove) {
      if (leadership !== tried) this.#drainInHandover(leadership);
      tried = leadership;
      this.#isHandingOver = true;
      const isRefused = await leadership.handover(this.#preferred).then(
        () => false,
        () => true,
      );
      this.#isHandingOver = false;
      // The preferred member has not joined the queue yet, or the store is away.
      if (isRefused) await this.#pause(leadership);
    }
    this.#isMoving = false;
  }

  /**
   * `handover` assumes that the work of `lead` has stopped, so the work is passed to `waitUntil`.
   * The work may resign the partition first, or hand it over. It then waits for the release, which
   * must not wait for the work.
   */
  #drainInHandover(leadership: PartitionLeadership<V>): void {
    const working = this.#working;
    leadership.waitUntil(leadership.ended.then(({ reason }) => (reason === 'handover' && this.#isHandingOver ? working : undefined)));
  }

  #pause({ signal }: PartitionLeadership<V>): Promise<void> {
    return sleep(this.#context.clock, MOVE_EVERY_MS, signal);
  }

  /** The leadership of a partition that another member shall lead. */
  get #toMove(): PartitionLeadership<V> | undefined {
    const leadership = this.#leadership;
    return leadership?.isValid() === true && leadership.memberId !== this.#preferred ? leadership : undefined;
  }
}
