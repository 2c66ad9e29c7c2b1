/** Which of the processes that hold what is watched have died: a few of them looked at a time, so that it costs the same however many there are. */

import type { LeaseId } from '@incumbent/core';

import { isGone, isOver, type Life } from './life.ts';
import type { LeaseLife } from './tables.ts';

/** At least so many at a time, and each of them once in so many times. */
const LOOKS_A_TIME = 4;
const TIMES_A_ROUND = 20;
/** A zombie, or another process under the same id, is looked for less often: to read a process's state costs ten times as much as to ask for the process. */
const THOROUGH_EVERY = 5;

interface Watched extends LeaseLife {
  looks: number;
}

export class Census {
  readonly #own: Life | undefined;
  #watched: Watched[] = [];

  /** `own`: this process, which is alive. */
  constructor(own: Life | undefined) {
    this.#own = own;
  }

  watch(leases: readonly LeaseLife[]): void {
    const others = new Map(leases.map((lease) => [lease.id, lease]));
    for (const { id, life } of leases) if (life.pid === this.#own?.pid && life.started === this.#own.started) others.delete(id);
    // They keep their turn: else, where much changes, the last ones would never have one.
    const kept = this.#watched.filter(({ id }) => others.delete(id));
    this.#watched = [...kept, ...[...others.values()].map((lease) => ({ ...lease, looks: 0 }))];
  }

  /** The leases, among those whose turn it is, of processes that are dead. */
  dead(): readonly LeaseId[] {
    const turn = this.#watched.splice(0, Math.max(LOOKS_A_TIME, Math.ceil(this.#watched.length / TIMES_A_ROUND)));
    this.#watched.push(...turn);
    return turn.filter((watched) => isDead(watched)).map(({ id }) => id);
  }
}

function isDead(watched: Watched): boolean {
  watched.looks += 1;
  return watched.looks % THOROUGH_EVERY === 1 ? isOver(watched.life) : isGone(watched.life);
}
