/**
 * Hands leaderships over to candidates that the succession prefers. Checks one leadership at a
 * time, every `rebalanceEveryMs`, so that a member hands over at most one election per interval.
 */

import type { Cancel, Clock } from '../base/clock.ts';
import type { ManagedLeadership } from '../leadership/leadership.ts';
import type { Telemetry } from '../base/telemetry.ts';

/** Rebalances the leaderships of one member. */
export class Rebalancer {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #telemetry: Telemetry;
  #led: readonly ManagedLeadership[] = [];
  #cancel: Cancel | undefined;
  #closed = false;

  constructor(clock: Clock, everyMs: number, telemetry: Telemetry) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#telemetry = telemetry;
  }

  add(leadership: ManagedLeadership): void {
    if (this.#closed) return;
    this.#led = [...this.#led, leadership];
    void leadership.ended.then(() => {
      this.#led = this.#led.filter((other) => other !== leadership);
    });
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#led = [];
    this.#cancel?.();
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.schedule(this.#everyMs, () => {
      this.#cancel = undefined;
      void this.#rebalanceOne();
    });
  }

  async #rebalanceOne(): Promise<void> {
    const [leadership, ...others] = this.#led;
    if (leadership === undefined) return;
    this.#led = [...others, leadership];
    try {
      const successor = await leadership.preferred();
      if (successor !== undefined && leadership.isValid()) {
        this.#telemetry.emit('rebalanced', { term: leadership.term, to: successor });
        await leadership.transferTo(successor);
      }
    } catch (error) {
      this.#telemetry.emit('retry', { doing: 'rebalancing', error });
    }
    if (this.#led.length > 0) this.#schedule();
  }
}
