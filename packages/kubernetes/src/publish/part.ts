/** One part of what is published for one term, and the loop that publishes and withdraws it. */

import { type Clock, IncumbentError, StoreError } from '@incumbent/core';
import { Backoff, sleep, systemRandom } from '@incumbent/core/adapter';

/** One term, as far as its publishing depends on it. A `Leadership` is one. */
export interface PublishedTerm {
  readonly term: bigint;
  readonly memberId: string;
  isValid(): boolean;
}

export interface Part {
  /**
   * Publishes the part, or keeps it up to date. Called again and again while the member leads.
   * Makes no change once `isValid()` is false, and rejects if another term is published that is
   * newer.
   */
  publish(signal: AbortSignal): Promise<void>;
  /**
   * Withdraws what this term has published, or may still publish by a request whose outcome nobody
   * knows. Changes nothing that a newer term has published. Called until it resolves.
   */
  withdraw(signal: AbortSignal): Promise<void>;
}

export interface PartContext {
  readonly clock: Clock;
  /** How long a part that is published is left alone, in ms. */
  readonly everyMs: number;
  /** Aborts when the part has to be withdrawn. */
  readonly leading: AbortSignal;
  /** Aborts when there is no more time to withdraw it. */
  readonly closed: AbortSignal;
  readonly report: (error: unknown) => void;
}

/** The first pause after a failure, in ms. It doubles with each further one. */
const FIRST_PAUSE_MS = 250;
/** After this time, in ms, the part is left as it is, for the next leader. */
const GIVE_UP_MS = 600_000;

/** How often a change is tried again because somebody else has changed the object. */
const MAX_TRIES = 5;

/** Resolves when the part is withdrawn, or nobody tries to any more. Never rejects. */
export async function keepPublished(part: Part, { clock, everyMs, leading, closed, report }: PartContext): Promise<void> {
  const backoff = new Backoff(systemRandom, FIRST_PAUSE_MS, everyMs);
  const succeeds = async (task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> => {
    try {
      await task(signal);
      backoff.reset();
      return true;
    } catch (error) {
      if (!signal.aborted) report(error);
      return false;
    }
  };
  while (!leading.aborted) {
    const pauseMs = (await succeeds((signal) => part.publish(signal), leading)) ? everyMs : backoff.next();
    await sleep(clock, pauseMs, leading);
  }
  backoff.reset();
  const endsAtMs = clock.monotonic() + GIVE_UP_MS;
  while (!closed.aborted && clock.monotonic() < endsAtMs) {
    if (await succeeds((signal) => part.withdraw(signal), closed)) return;
    await sleep(clock, backoff.next(), closed);
  }
}

/**
 * Calls `attempt` until it returns something else than `'changed'`, which says that somebody else
 * has changed the object in between.
 *
 * @throws `CONFLICT` if that happens every time.
 */
export async function untilUnchanged<T>(what: string, attempt: () => Promise<T | 'changed'>): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const result = await attempt();
    if (result !== 'changed') return result;
  }
  throw new StoreError('CONFLICT', 'refused', `kubernetes ${what}: others changed the object ${MAX_TRIES} times in a row`);
}

/** Whether the server may have applied a write of this term, or may still apply it. */
export class SentWrites {
  #mayExist = false;

  get mayExist(): boolean {
    return this.#mayExist;
  }

  /** Makes one write. Resolves with undefined if the server has refused it. */
  async make<T>(write: () => Promise<T | undefined>): Promise<T | undefined> {
    const before = this.#mayExist;
    this.#mayExist = true;
    try {
      const written = await write();
      this.#mayExist = before || written !== undefined;
      return written;
    } catch (error) {
      if (error instanceof StoreError && error.outcome !== 'unknown') this.#mayExist = before;
      throw error;
    }
  }
}

/**
 * The error of a leader that finds what a newer term has published. `remedy`: what to remove after
 * a reset.
 */
export function overtaken(what: string, { term, seen, remedy }: { term: bigint; seen: bigint; remedy: string }): IncumbentError {
  const message = `kubernetes ${what}: the term ${seen} is published, which is newer than ${term}. If the terms were reset, ${remedy}`;
  return new IncumbentError('STALE_TERM', message, { details: { term, seen } });
}

/** The error of a leader that finds what others have published, and does not overwrite it. */
export function foreign(what: string, whose: string): IncumbentError {
  return new IncumbentError('FOREIGN_DATA', `kubernetes ${what}: ${whose}`);
}
