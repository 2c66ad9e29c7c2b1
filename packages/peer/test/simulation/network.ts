/**
 * The network of a world. It loses, delays, reorders and repeats messages, and can be partitioned
 * in any way.
 */

import type { Scheduler, Stream } from '@incumbent/simulator/time';
import type { CutHow } from './faults.ts';

/** Whether a message may pass now. */
type Cut = (from: string, to: string) => boolean;

export class Network {
  readonly #scheduler: Scheduler;
  readonly #random: Stream;
  readonly #latencyMs: readonly [number, number];
  readonly #cuts = new Set<Cut>();
  readonly #lossy = new Set<number>();
  readonly #duplicating = new Set<number>();
  readonly #slow = new Set<{ readonly part: number; readonly byMs: number }>();

  constructor(scheduler: Scheduler, random: Stream, latencyMs: readonly [number, number]) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#latencyMs = latencyMs;
  }

  /** `echo`: the probability that the message arrives again, and within which time. */
  send(from: string, to: string, deliver: () => void, echo: { readonly chance: number; readonly withinMs: number }): void {
    if (this.#random.chance(echo.chance)) this.#scheduler.after(this.#random.below(echo.withinMs), deliver);
    for (const cut of this.#cuts) if (cut(from, to)) return;
    for (const part of this.#lossy) if (this.#random.chance(part)) return;
    this.#pass(deliver);
    for (const part of this.#duplicating) if (this.#random.chance(part)) this.#pass(deliver);
  }

  isolate(id: string, how: CutHow): () => void {
    return add(this.#cuts, (from, to) => (to === id && how !== 'mute') || (from === id && how !== 'deaf'));
  }

  split(side: readonly string[], oneWay: boolean): () => void {
    return add(
      this.#cuts,
      (from, to) => (side.includes(from) && !side.includes(to)) || (!oneWay && !side.includes(from) && side.includes(to)),
    );
  }

  /** Like a split, but one member reaches both sides. */
  bridge(side: readonly string[], over: string): () => void {
    return add(this.#cuts, (from, to) => from !== over && to !== over && side.includes(from) !== side.includes(to));
  }

  lose(part: number): () => void {
    return add(this.#lossy, part);
  }

  duplicate(part: number): () => void {
    return add(this.#duplicating, part);
  }

  slow(part: number, byMs: number): () => void {
    return add(this.#slow, { part, byMs });
  }

  #pass(deliver: () => void): void {
    const [min, max] = this.#latencyMs;
    let inMs = min + this.#random.below(max - min + 1);
    for (const { part, byMs } of this.#slow) if (this.#random.chance(part)) inMs += this.#random.below(byMs + 1);
    this.#scheduler.after(inMs, deliver);
  }
}

function add<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => {
    set.delete(item);
  };
}
