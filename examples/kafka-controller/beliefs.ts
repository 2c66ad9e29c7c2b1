/** What a broker believes, asked all the time: whether it is the controller. */

import type { Leadership } from 'incumbent';
import { now } from './events.ts';

const ASK_EVERY_MS = 5;
/** Every so many times, it is told. */
const TELL_EVERY = 10;

export interface Belief {
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
  readonly asked: number;
}

interface Asked {
  readonly term: bigint;
  asked: number;
  /**
   * The moments after the first yes was given and before the last one was asked for: what is told lies within what was believed, so that
   * two beliefs that meet are two believers for certain, however slow the machine.
   */
  from?: number;
  to?: number;
}

/** Asks each leadership that this process ever held whether it stands: long after its end, too, for a stale yes is what must not be. */
export class Beliefs {
  readonly #all = new Map<Pick<Leadership, 'term' | 'isValid'>, Asked>();
  readonly #tell: (belief: Belief) => void;
  readonly #timer: NodeJS.Timeout;
  #rounds = 0;

  constructor(tell: (belief: Belief) => void) {
    this.#tell = tell;
    this.#timer = setInterval(() => this.#round(), ASK_EVERY_MS);
  }

  /** `leadership.isValid()`, put down; from now on it is asked all the time. */
  ask(leadership: Pick<Leadership, 'term' | 'isValid'>): void {
    const belief = this.#all.get(leadership) ?? { term: leadership.term, asked: 0 };
    this.#all.set(leadership, belief);
    const before = now();
    const valid = leadership.isValid();
    belief.asked += 1;
    if (!valid) return;
    belief.from ??= now();
    belief.to = before;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#tellAll();
  }

  #round(): void {
    for (const leadership of this.#all.keys()) this.ask(leadership);
    this.#rounds += 1;
    if (this.#rounds % TELL_EVERY === 0) this.#tellAll();
  }

  #tellAll(): void {
    for (const { term, asked, from, to } of this.#all.values()) {
      if (from !== undefined && to !== undefined && to > from) this.#tell({ term, from, to, asked });
    }
  }
}
