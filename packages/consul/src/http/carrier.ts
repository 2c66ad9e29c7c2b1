/** What carries one request to the agent and its answer back. */

import type { Attempt } from '@incumbent/network';

export interface Outgoing {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

export interface Carrier {
  /**
   * Sends it once at most, and sets `attempt.sent` when it may be on its way. Rejects with an `ExchangeError`, or, as soon as the attempt is over, with its
   * signal's reason.
   */
  carry(outgoing: Outgoing, attempt: Attempt): Promise<Answer>;
  /** Frees the connections. */
  close(): Promise<void>;
}
