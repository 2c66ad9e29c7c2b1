/**
 * Hands leaderships over to candidates that the succession prefers. Checks some of the leaderships
 * every `rebalanceEveryMs`, one after another, so that a member hands over one election at a time.
 */

import type { Cancel, Clock } from '../base/clock.ts';
import type { ManagedLeadership } from '../leadership/leadership.ts';
import type { Telemetry } from '../base/telemetry.ts';

/** Each interval checks this share of the leaderships, and at least one of them. */
const CHECKED_SHARE = 0.1;

/** Rebalances the leaderships of one member. */
export class Rebalancer {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #telemetry: Telemetry;
  #led: readonly ManagedLeadership[] = [];
  /** Set until the next check is over. */
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
    this.#cancel ??= this.#clock.schedule(this.#everyMs, () => void this.#rebalance());
  }

  /**
   * Checks the leaderships that have waited longest. Checks all of them if one is handed over: a
   * member has joined or has returned, and more elections prefer it.
   */
  async #rebalance(): Promise<void> {
    const all = this.#led.length;
    let toCheck = Math.ceil(all * CHECKED_SHARE);
    try {
      for (let checked = 0; checked < toCheck; checked += 1) if (await this.#checkNext()) toCheck = all;
    } catch (error) {
      this.#telemetry.emitOften('retry', { doing: 'rebalancing', error }, this.#clock.monotonic());
    }
    this.#cancel = undefined;
    if (this.#led.length > 0) this.#schedule();
  }

  /** Resolves with true after a handover. */
  async #checkNext(): Promise<boolean> {
    const [leadership, ...others] = this.#led;
    if (leadership === undefined) return false;
    this.#led = [...others, leadership];
    const successor = await leadership.preferred();
    if (successor === undefined || !leadership.isValid()) return false;
    await leadership.transferTo(successor);
    this.#telemetry.emit('rebalanced', { election: leadership.election, term: leadership.term, to: successor });
    return true;
  }
}
