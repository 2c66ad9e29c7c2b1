/** Counts refused messages and connections by reason, and reports some of them to telemetry. */

import type { Telemetry } from '@incumbent/core/adapter';
import type { PeerConflict } from './algorithm.ts';

/**
 * Why a message is refused. `configuration`: its sender has another algorithm, other members, or
 * another value of an option that the algorithm compares.
 */
export type RefusalReason = 'unknownMember' | 'configuration' | 'malformed';

/**
 * Telemetry reports the first refusal of each reason, and then one in this many: a wrong member
 * sends many messages.
 */
const REPORT_ONE_IN = 1_000;

export class Refusals<Reason extends string> {
  readonly #telemetry: Telemetry;
  readonly #event: 'messageRefused' | 'connectionRefused';
  readonly #counts: Record<Reason, number>;

  /** `none`: every reason with the count 0. */
  constructor(telemetry: Telemetry, event: 'messageRefused' | 'connectionRefused', none: Readonly<Record<Reason, number>>) {
    this.#telemetry = telemetry;
    this.#event = event;
    this.#counts = { ...none };
  }

  get counts(): Readonly<Record<Reason, number>> {
    return { ...this.#counts };
  }

  add(reason: Reason, facts: object): void {
    if (this.#counts[reason] % REPORT_ONE_IN === 0) this.#telemetry.emit(this.#event, { reason, ...facts });
    this.#counts[reason] += 1;
  }
}

/**
 * Reports signs of members that are set up wrongly, as errors: the first of each code, then one in
 * many.
 */
export class Conflicts {
  readonly #telemetry: Telemetry;
  readonly #counts: Record<PeerConflict['code'], number> = { OWN_ID: 0, TWO_LEADERS: 0, TERM_TOO_HIGH: 0, VERSION_TOO_HIGH: 0 };

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  add(conflict: PeerConflict): void {
    const { code } = conflict;
    if (this.#counts[code] % REPORT_ONE_IN === 0) this.#telemetry.emit('peerConflict', { ...conflict });
    this.#counts[code] += 1;
  }
}
