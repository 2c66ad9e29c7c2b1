/** What the main thread and the renewing worker send each other. */

import type { RenewalRules } from './blocked-renewals.ts';

/** The worker's data at its start. */
export interface WorkerSettings {
  /** `Revocation.module` and `Revocation.access` of the member's store. */
  readonly module: string;
  readonly access: string;
  readonly rules: RenewalRules;
  /** How often the worker looks whether a renewal is due, in ms. */
  readonly checkEveryMs: number;
}

/** To the worker: renew this lease from now on. */
export interface LeaseMessage {
  readonly ticket: string;
  readonly renewEveryMs: number;
  readonly buffer: SharedArrayBuffer;
}

/** From the worker: it is ready. `nowMs` is the worker's `now()`. */
export interface ReadyMessage {
  readonly nowMs: number;
}
