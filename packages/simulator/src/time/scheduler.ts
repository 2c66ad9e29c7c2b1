/**
 * Decides what happens when, and in which order what is due at the same moment: every timer, message and fault is one entry, by time, then by a seeded
 * number, then by age. World time is in whole ms, so that things meet at one moment often and every order of them is tried.
 */

import type { Random } from '@incumbent/core';

/** Something that will happen once, unless it is cancelled. */
export interface Entry {
  readonly atMs: number;
  /** 32 bits of chance, with a sign: V8 keeps such a number in the entry itself, and compares it as it is. */
  readonly tie: number;
  readonly order: number;
  /** Undefined: cancelled, or over. */
  task: (() => void) | undefined;
}

/** More entries than this at one moment are taken for a loop that goes on without any time passing. */
const MAX_AT_ONE_MOMENT = 20_000;

/** Thrown where the world runs and runs without getting anywhere. */
export class Livelock extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Livelock';
  }
}

export class Scheduler {
  readonly #random: Random;
  readonly #heap: Entry[] = [];
  #nowMs = 0;
  #order = 0;
  #ran = 0;
  #atThisMoment = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** World time, in whole ms from 0. No process can read it. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** How many entries there ever were. */
  get order(): number {
    return this.#order;
  }

  /** How many tasks have run. */
  get ran(): number {
    return this.#ran;
  }

  /** Runs `task` at `atMs`, rounded up to a whole ms; now at the earliest. */
  at(atMs: number, task: () => void): Entry {
    const entry = { atMs: Math.max(Math.ceil(atMs), this.#nowMs), tie: (this.#random.u32() - 2 ** 31) | 0, order: this.#order++, task };
    rise(this.#heap, entry);
    return entry;
  }

  after(delayMs: number, task: () => void): Entry {
    return this.at(this.#nowMs + delayMs, task);
  }

  /** Runs the next task, at its time; false when there is none. Throws {@link Livelock} when time stands still under too many. */
  step(): boolean {
    for (let next = take(this.#heap); next !== undefined; next = take(this.#heap)) {
      const { task } = next;
      if (task === undefined) continue;
      next.task = undefined;
      this.#goTo(next.atMs);
      task();
      return true;
    }
    return false;
  }

  #goTo(atMs: number): void {
    this.#ran += 1;
    if (atMs > this.#nowMs) this.#atThisMoment = 0;
    this.#nowMs = atMs;
    this.#atThisMoment += 1;
    if (this.#atThisMoment > MAX_AT_ONE_MOMENT) throw new Livelock(`${MAX_AT_ONE_MOMENT} tasks ran at ${atMs} ms without time going on`);
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  return a.tie === b.tie ? a.order < b.order : a.tie < b.tie;
}

/** Puts an entry into a binary heap. */
function rise(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(entry, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

/** Takes the first one out. */
function take(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last !== undefined && heap.length > 0) sink(heap, last);
  return first;
}

function sink(heap: Entry[], entry: Entry): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const left = heap[child];
    const right = heap[child + 1];
    if (left === undefined) break;
    const earlier = right !== undefined && isBefore(right, left) ? right : left;
    if (earlier === right) child += 1;
    if (!isBefore(earlier, entry)) break;
    heap[at] = earlier;
    at = child;
  }
  heap[at] = entry;
}
