/**
 * Brings leaderships back to the members that the succession prefers, slowly: at each turn one leadership is looked at, so a member makes at most
 * one request a turn, and hands over at most one election.
 */

import type { Cancel, Clock } from '../base/clock.ts';
import type { Held } from '../leadership/leadership.ts';
import type { Telemetry } from '../base/telemetry.ts';

export class Rebalancer {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #telemetry: Telemetry;
  #led: readonly Held[] = [];
  #cancel: Cancel | undefined;
  #closed = false;

  constructor(clock: Clock, everyMs: number, telemetry: Telemetry) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#telemetry = telemetry;
  }

  add(leadership: Held): void {
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
      void this.#turn();
    });
  }

  async #turn(): Promise<void> {
    const [leadership, ...others] = this.#led;
    if (leadership === undefined) return;
    this.#led = [...others, leadership];
    try {
      const heir = await leadership.preferred();
      if (heir !== undefined && leadership.isValid()) {
        this.#telemetry.emit('rebalanced', { term: leadership.term, to: heir });
        await leadership.passOn(heir);
      }
    } catch (error) {
      this.#telemetry.emit('retry', { doing: 'rebalancing', error });
    }
    if (this.#led.length > 0) this.#schedule();
  }
}
