/**
 * Finds the successors of one member's leaderships in advance, so that a leader that ends its term
 * need not read the queue first.
 *
 * All leaderships of the member share one budget: `LOOKS_AT_ONCE` looks, and then one every
 * `LOOK_EVERY_MS`. So idle elections cost their store the same, however many they are. Each
 * leadership is looked at `FIRST_LOOK_MS` after its election, as the former leader has joined the
 * queue again by then, and then at growing intervals.
 */

import type { Semaphore } from '../async/semaphore.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import type { ManagedLeadership } from '../leadership/leadership.ts';

const FIRST_LOOK_MS = 1_000;
/** The longest interval between two looks at one leadership. */
const LONGEST_INTERVAL_MS = 60_000;
/**
 * All elections that a member leads cost at most 0.08 looks a second, beside the 0.3 renewals a
 * second of a ttl of 10 s. A look takes ZooKeeper about four packets.
 */
const LOOK_EVERY_MS = 12_000;
/** How many looks may follow one another directly after a long rest. */
const LOOKS_AT_ONCE = 10;

/** When to look for a leadership's successor next, and the interval after that look. */
interface Plan {
  dueMs: number;
  intervalMs: number;
}

/** The lookups of one member. */
export class SuccessorLookups {
  readonly #clock: Clock;
  readonly #semaphore: Semaphore;
  readonly #plans = new Map<ManagedLeadership, Plan>();
  /** The timer of the next look, and the time for which it is set. */
  #timer: { readonly atMs: number; readonly cancel: Cancel } | undefined;
  #isLooking = false;
  #closed = false;
  /** When the budget would be whole again. (The generic cell rate algorithm: ITU-T I.371.) */
  #wholeAtMs = -Infinity;

  constructor(clock: Clock, semaphore: Semaphore) {
    this.#clock = clock;
    this.#semaphore = semaphore;
  }

  add(leadership: ManagedLeadership): void {
    if (this.#closed) return;
    const dueMs = this.#clock.monotonic() + FIRST_LOOK_MS;
    this.#plans.set(leadership, { dueMs, intervalMs: FIRST_LOOK_MS });
    this.#schedule(dueMs);
  }

  remove(leadership: ManagedLeadership): void {
    this.#plans.delete(leadership);
    if (this.#plans.size === 0) this.#cancel();
  }

  close(): void {
    this.#closed = true;
    this.#plans.clear();
    this.#cancel();
  }

  #cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Schedules the next look for `dueMs`, or later if the budget requires. Keeps an earlier timer.
   */
  #schedule(dueMs: number): void {
    const atMs = Math.max(dueMs, this.#wholeAtMs - (LOOKS_AT_ONCE - 1) * LOOK_EVERY_MS);
    if (this.#isLooking || (this.#timer !== undefined && this.#timer.atMs <= atMs)) return;
    this.#cancel();
    const cancel = this.#clock.schedule(Math.max(atMs - this.#clock.monotonic(), 0), () => void this.#look());
    this.#timer = { atMs, cancel };
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    const [leadership, plan] = this.#next() ?? [];
    if (leadership === undefined || plan === undefined) return;
    const nowMs = this.#clock.monotonic();
    if (plan.dueMs <= nowMs) {
      if (leadership.isValid()) await this.#lookFor(leadership, plan, nowMs);
      plan.dueMs = this.#clock.monotonic() + plan.intervalMs;
    }
    const [, next] = this.#next() ?? [];
    if (next !== undefined) this.#schedule(next.dueMs);
  }

  async #lookFor(leadership: ManagedLeadership, plan: Plan, nowMs: number): Promise<void> {
    this.#isLooking = true;
    this.#wholeAtMs = Math.max(this.#wholeAtMs, nowMs) + LOOK_EVERY_MS;
    plan.intervalMs = (await this.#isKnown(leadership)) ? LONGEST_INTERVAL_MS : Math.min(2 * plan.intervalMs, LONGEST_INTERVAL_MS);
    this.#isLooking = false;
  }

  /** If a look fails, the leader reads the queue when its term ends. */
  async #isKnown(leadership: ManagedLeadership): Promise<boolean> {
    try {
      return await this.#semaphore.run(() => leadership.prepareRelease());
    } catch {
      return false;
    }
  }

  /** The leadership that has been due for longest. */
  #next(): readonly [ManagedLeadership, Plan] | undefined {
    let first: readonly [ManagedLeadership, Plan] | undefined;
    for (const each of this.#plans) if (first === undefined || each[1].dueMs < first[1].dueMs) first = each;
    return first;
  }
}
