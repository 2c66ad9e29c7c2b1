/** What nobody acts on, by reason: counted, and told of now and then. */

import type { Telemetry } from '@incumbent/core/adapter';
import type { PeerConflict } from './algorithm.ts';

/** Why a message is refused. `configuration`: its sender runs with other members or times, or another algorithm. */
export type RefusalReason = 'unknownMember' | 'configuration' | 'malformed';

/** The first of each kind, and then one in so many, goes to telemetry: a wrong member sends many. */
const TOLD_ONE_IN = 1_000;

export class Refusals<Reason extends string> {
  readonly #telemetry: Telemetry;
  readonly #event: 'messageRefused' | 'connectionRefused';
  readonly #counts: Record<Reason, number>;

  /** `none`: every reason, and 0. */
  constructor(telemetry: Telemetry, event: 'messageRefused' | 'connectionRefused', none: Readonly<Record<Reason, number>>) {
    this.#telemetry = telemetry;
    this.#event = event;
    this.#counts = { ...none };
  }

  get counts(): Readonly<Record<Reason, number>> {
    return { ...this.#counts };
  }

  add(reason: Reason, facts: object): void {
    if (this.#counts[reason] % TOLD_ONE_IN === 0) this.#telemetry.emit(this.#event, { reason, ...facts });
    this.#counts[reason] += 1;
  }
}

/** Signs that members are set up wrongly: told of as errors, the first of each code and then one in so many. */
export class Conflicts {
  readonly #telemetry: Telemetry;
  readonly #counts: Record<PeerConflict['code'], number> = { OWN_ID: 0, TWO_LEADERS: 0, TERM_TOO_HIGH: 0, VERSION_TOO_HIGH: 0 };

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  add(conflict: PeerConflict): void {
    const { code } = conflict;
    if (this.#counts[code] % TOLD_ONE_IN === 0) this.#telemetry.emit('peerConflict', { ...conflict });
    this.#counts[code] += 1;
  }
}
