/**
 * The calls of one campaign, and how long each may take. A call after one that timed out gets more
 * time. Otherwise every try on a slow store would time out, and nobody would ever be elected.
 */

import type { Clock } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { LeaseSession } from '../lease/session.ts';
import type { Timing } from '../lease/timing.ts';
import type { CallOptions } from '../store/contract.ts';

/**
 * The longest time of a call, in ttls. A candidate that gives up leaves the queue only after its
 * present call, so this also limits how long it takes to leave.
 */
const LONGEST_TTLS = 0.5;

/** Each call after one that timed out may take twice as long. */
export class CampaignCalls {
  readonly #session: LeaseSession;
  readonly #clock: Clock;
  readonly #timing: Timing;
  #timeoutMs: number;

  constructor(session: LeaseSession, { clock, timing }: { readonly clock: Clock; readonly timing: Timing }) {
    this.#session = session;
    this.#clock = clock;
    this.#timing = timing;
    this.#timeoutMs = timing.callTimeoutMs;
  }

  /**
   * Runs a task that makes calls with these options. The calls have `callTimeoutMs` again after a
   * task that took no longer.
   */
  async make<T>(task: (options: CallOptions) => Promise<T>): Promise<T> {
    const { callTimeoutMs, ttlMs } = this.#timing;
    const sentMs = this.#clock.monotonic();
    try {
      const result = await task({ ...this.#session.call, timeoutMs: this.#timeoutMs });
      if (this.#clock.monotonic() - sentMs <= callTimeoutMs) this.#timeoutMs = callTimeoutMs;
      return result;
    } catch (error) {
      if (isIncumbentError(error, 'TIMEOUT'))
        this.#timeoutMs = Math.max(callTimeoutMs, Math.min(2 * this.#timeoutMs, LONGEST_TTLS * ttlMs));
      throw error;
    }
  }
}
