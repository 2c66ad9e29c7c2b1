/** What nobody acts on, by reason: counted, and told of now and then. */

import type { Telemetry } from '@incumbent/core/parts';

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
