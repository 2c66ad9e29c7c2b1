/** The credentials of a store, which its requests share for some seconds. */

import type { Clock } from '@incumbent/core';

import type { Access, Credentials } from './access.ts';
import { ExchangeError } from './failure.ts';

/**
 * Credentials are read again after this time, in ms. A token that was replaced stays valid longer.
 */
const FRESH_MS = 5_000;
/** A failure to read them counts for this time, in ms. Each read may start a plug-in. */
const FAILED_MS = 1_000;
/** A read that has not ended after this time, in ms, does not keep another one from starting. */
const LONGEST_READ_MS = 60_000;

/** One read of the credentials. */
export interface CredentialRead {
  /** Rejects with an `ExchangeError`. */
  readonly credentials: Promise<Credentials>;
}

interface TimedRead extends CredentialRead {
  /** When the next read may start, by the monotonic clock. */
  untilMs: number;
}

export class CredentialCache {
  readonly #access: Pick<Access, 'credentials'>;
  readonly #clock: Clock;
  #latest: TimedRead | undefined;
  /** Whether the server has rejected the credentials that the latest read has found. */
  #isRejected = false;

  constructor(access: Pick<Access, 'credentials'>, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  /** The latest read, or a new one. Only one read is under way, unless it takes very long. */
  current(): CredentialRead {
    if (this.#latest === undefined || this.#clock.monotonic() >= this.#latest.untilMs) this.#latest = this.#read();
    return this.#latest;
  }

  /** The server has rejected what this read has found: if no later read has begun, one begins. */
  forget(read: CredentialRead): void {
    if (this.#latest !== read) return;
    this.#latest = undefined;
    this.#isRejected = true;
  }

  #read(): TimedRead {
    const keepFor = (ms: number): void => {
      read.untilMs = this.#clock.monotonic() + ms;
    };
    const isRejected = this.#isRejected;
    this.#isRejected = false;
    const credentials = this.#access.credentials(isRejected).then(
      (found) => {
        keepFor(FRESH_MS);
        return found;
      },
      (cause: unknown) => {
        keepFor(FAILED_MS);
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new ExchangeError({ kind: 'notConnected' }, `the credentials cannot be read: ${why}`, cause);
      },
    );
    // The request that needs them may have ended.
    credentials.catch(() => {});
    const read: TimedRead = { credentials, untilMs: this.#clock.monotonic() + LONGEST_READ_MS };
    return read;
  }
}
