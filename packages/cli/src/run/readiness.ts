/** Why a process takes no part in its elections: the reason in the answer of `/readyz`. */

import { isIncumbentError, type Cancel, type Member, type TelemetryEvent } from '@incumbent/core';

import { type EventFields, onOwnEvent } from '../common/own-events.ts';

/** The events after which the member has a lease, and all is well with it. */
const GOOD: readonly TelemetryEvent[] = ['sessionOpened', 'sessionReopened', 'sessionRecovered'];

/**
 * Create it before the member campaigns. The reason has the codes of errors and not their messages,
 * which contain the addresses of servers: anybody may call the probe.
 */
export class Readiness implements Disposable {
  readonly #member: Member;
  readonly #stops: readonly Cancel[];
  #cause = '';

  constructor(member: Member) {
    this.#member = member;
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

  /** Undefined if the member has a lease, and no renewal is overdue. */
  get reason(): string | undefined {
    const { state } = this.#member;
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
