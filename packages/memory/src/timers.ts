/**
 * A binary heap of timers, in the order of their times. Timers of one time keep the order in which
 * they were added.
 */

export interface Timer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly task: () => void;
  cancelled: boolean;
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

export class Timers {
  readonly #heap: Timer[] = [];
  #sequence = 0;
  #live = 0;

  /** How many timers are pending. */
  get size(): number {
    return this.#live;
  }

  add(dueMs: number, task: () => void): Timer {
    const timer = { dueMs, task, sequence: this.#sequence++, cancelled: false };
    this.#heap.push(timer);
    this.#rise(this.#heap.length - 1);
    this.#live += 1;
    return timer;
  }

  /** Does nothing if the timer was cancelled or taken before. */
  cancel(timer: Timer): void {
    if (timer.cancelled) return;
    timer.cancelled = true;
    this.#live -= 1;
  }

  /** The next timer. Undefined: none is pending. */
  peek(): Timer | undefined {
    while (this.#heap[0]?.cancelled) this.#removeFirst();
    return this.#heap[0];
  }

  /** Removes and returns the next timer. Undefined: none is pending. */
  take(): Timer | undefined {
    const first = this.peek();
    if (first === undefined) return undefined;
    this.#removeFirst();
    this.cancel(first);
    return first;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink();
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const child = this.#earlierChild(at);
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #earlierChild(at: number): number {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    const [l, r] = [this.#heap[left], this.#heap[right]];
    return l !== undefined && r !== undefined && isBefore(r, l) ? right : left;
  }

  /** Swaps two timers if the timer at `one` is due before the timer at `other`. */
  #swapIfBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined || !isBefore(a, b)) return false;
    this.#heap[one] = b;
    this.#heap[other] = a;
    return true;
  }
}
