/** Why a process takes no part in its elections: the reason in the answer of `/readyz`. */

import { isIncumbentError, type Cancel, type Member, type TelemetryEvent } from '@incumbent/core';

import { type EventFields, onOwnEvent } from '../common/own-events.ts';

/** The events after which no earlier cause applies to the member and its lease any more. */
const GOOD: readonly TelemetryEvent[] = ['sessionOpened', 'sessionReopened', 'sessionRecovered', 'joined'];

/**
 * The reason has the codes of errors and not their messages, which contain the addresses of
 * servers: anybody may call the probe.
 */
export class Readiness implements Disposable {
  #member: Member | undefined;
  #stops: readonly Cancel[] = [];
  #cause = '';

  /** Call it when an attempt to open the store has failed. */
  storeFailed(error: unknown): void {
    this.#cause = failingCall({ error });
  }

  /** Call it when the store is open, before the member campaigns. */
  follow(member: Member): void {
    this.#member = member;
    this.#cause = '';
    const on = (event: TelemetryEvent, causeOf: (fields: EventFields) => string): Cancel =>
      onOwnEvent(member, event, (fields) => {
        this.#cause = causeOf(fields);
      });
    this.#stops = [
      ...GOOD.map((event) => on(event, () => '')),
      on('retry', failingCall),
      on('sessionSuspect', failingCall),
      on('duplicateMember', () => ': another process holds the member id, and its lease must end first'),
    ];
  }

  /** The state of the member. `idle` before the store is open. */
  get lease(): Member['state'] {
    return this.#member?.state ?? 'idle';
  }

  /** Undefined if the member has a lease, and no renewal is overdue. */
  get reason(): string | undefined {
    if (this.#member === undefined) return `the store is not open${this.#cause}`;
    const state = this.lease;
    switch (state) {
      case 'live':
        return undefined;
      case 'idle':
        return `there is no lease${this.#cause}`;
      case 'suspect':
        return `a renewal of the lease is overdue${this.#cause}`;
      case 'closed':
        return 'the process is about to stop';
      default:
        return state satisfies never;
    }
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}

function failingCall({ error }: EventFields): string {
  return isIncumbentError(error) ? `: a call to the store failed with ${error.code}, see the log` : '';
}
