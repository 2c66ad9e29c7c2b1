/** Messages that nobody acts on, by reason: counted, and told of now and then. */

import type { Telemetry } from '@incumbent/core/parts';

/** `configuration`: its sender runs with other members or times, or another algorithm. */
export type RefusalReason = 'unknownMember' | 'configuration' | 'malformed';

/** The first of each kind, and then one in so many, goes to telemetry: a wrong member sends many. */
const TOLD_ONE_IN = 1_000;

export class Refusals {
  readonly #telemetry: Telemetry;
  readonly #counts = { unknownMember: 0, configuration: 0, malformed: 0 };

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  get counts(): Readonly<Record<RefusalReason, number>> {
    return { ...this.#counts };
  }

  add(reason: RefusalReason, from: string, facts: object = {}): void {
    if (this.#counts[reason] % TOLD_ONE_IN === 0) this.#telemetry.emit('messageRefused', { reason, from, ...facts });
    this.#counts[reason] += 1;
  }
}
