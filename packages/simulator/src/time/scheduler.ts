/**
 * Decides when everything happens, and in which order things happen that are due at the same
 * moment. Every timer, message and fault is one entry. Entries are ordered by time, then by a
 * random number from the seed, then by age. World time is in whole ms, so that many things are due
 * at the same moment and every order of them is tried.
 */

import type { Random } from '@incumbent/core';

/** A task that runs once, unless it is cancelled. */
export interface Entry {
  readonly atMs: number;
  /**
   * 32 random bits, as a signed number: V8 stores and compares such a number without allocating.
   */
  readonly tie: number;
  readonly order: number;
  /** Undefined if the entry was cancelled or is over. */
  task: (() => void) | undefined;
}

/** Greater than any random one. */
const LAST_TIE = 2 ** 31 - 1;

/** More entries than this at one moment are a loop in which no time passes. */
const MAX_AT_ONE_MOMENT = 20_000;

/** Thrown when the world runs without making progress in time. */
export class Livelock extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Livelock';
  }
}

/** Runs the tasks of a world in the order of their times, and moves its time. */
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

  /** World time, in whole ms from 0. Processes cannot read it. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** How many entries were ever created. */
  get order(): number {
    return this.#order;
  }

  /** How many tasks have run. */
  get ran(): number {
    return this.#ran;
  }

  /** Runs `task` at `atMs`, rounded up to a whole ms, and now at the earliest. */
  at(atMs: number, task: () => void): Entry {
    const entry = { atMs: Math.max(Math.ceil(atMs), this.#nowMs), tie: (this.#random.u32() - 2 ** 31) | 0, order: this.#order++, task };
    rise(this.#heap, entry);
    return entry;
  }

  after(delayMs: number, task: () => void): Entry {
    return this.at(this.#nowMs + delayMs, task);
  }

  /**
   * Runs `task` at this whole ms, after all else that is due then. Draws no random number, so all
   * other tasks run as they would without this one.
   */
  observe(atMs: number, task: () => void): void {
    rise(this.#heap, { atMs, tie: LAST_TIE, order: this.#order, task });
  }

  /**
   * Runs the next task at its time. False if there is none.
   *
   * @throws {Livelock} If too many tasks run without time advancing.
   */
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

/** Inserts an entry into a binary heap. */
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

/** Removes and returns the first entry. */
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
