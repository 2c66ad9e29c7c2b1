/** Samples `isValid()` continuously: whether this broker is a valid controller. */

import type { Leadership } from 'incumbent';
import type { ValidSpan } from './commands.ts';
import { now } from './events.ts';

const ASK_EVERY_MS = 5;
/** A sample is reported after this many calls. */
const TELL_EVERY = 10;

interface Asked {
  readonly term: bigint;
  asked: number;
  /**
   * The time after the first answer of true and the time before the last one was asked for. So the
   * reported interval lies within the real one, and two overlapping intervals prove two valid
   * controllers, however slow the machine is.
   */
  from?: number;
  to?: number;
}

/**
 * Calls `isValid()` of every leadership that this process ever had, even long after its end, to
 * find a wrong true.
 */
export class ValidSpans {
  readonly #all = new Map<Pick<Leadership, 'term' | 'isValid'>, Asked>();
  readonly #tell: (validSpan: ValidSpan) => void;
  readonly #timer: NodeJS.Timeout;
  #rounds = 0;

  constructor(tell: (validSpan: ValidSpan) => void) {
    this.#tell = tell;
    this.#timer = setInterval(() => this.#round(), ASK_EVERY_MS);
  }

  /** Calls `leadership.isValid()` continuously from now on, and records the results. */
  ask(leadership: Pick<Leadership, 'term' | 'isValid'>): void {
    const validSpan = this.#all.get(leadership) ?? { term: leadership.term, asked: 0 };
    this.#all.set(leadership, validSpan);
    const before = now();
    const valid = leadership.isValid();
    validSpan.asked += 1;
    if (!valid) return;
    validSpan.from ??= now();
    validSpan.to = before;
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
