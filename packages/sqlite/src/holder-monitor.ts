/** Whose leases hold what is watched, and which of those processes have died: a few of them looked at a time, so that it costs the same however many there are. */

import type { LeaseId } from '@incumbent/core';

import { isGone, isOver, type Life } from './host/process-identity.ts';
import type { Row } from './schema/tables.ts';

/** At least so many at a time, and each of them once in so many times. */
const LOOKS_A_TIME = 4;
const TIMES_A_ROUND = 20;
/** A zombie, or another process under the same id, is looked for less often: to read a process's state costs ten times as much as to ask for the process. */
const THOROUGH_EVERY = 5;

interface Process {
  readonly life: Life;
  looks: number;
}

/** What somebody watches shows these: one key, what is below a prefix, or nothing. */
export type Holding = readonly Pick<Row, 'lease' | 'life'>[];

export class Census {
  readonly #own: Life | undefined;
  /** How much each lease holds of what is watched. */
  readonly #held = new Map<LeaseId, number>();
  /** What is there under no lease, or not there. */
  #unheld = 0;
  /** By their leases, in the order in which they are looked at. */
  readonly #processes = new Map<LeaseId, Process>();

  /** `own`: this process, which is alive. */
  constructor(own: Life | undefined) {
    this.#own = own;
  }

  /** This is watched. */
  hold(rows: Holding): void {
    if (rows.length === 0) this.#unheld += 1;
    for (const { lease, life } of rows) {
      if (lease === undefined) this.#unheld += 1;
      else this.#holdBy(lease, life);
    }
  }

  /** It is not, any more. What takes its place is told first: so its process keeps its turn. */
  letGo(rows: Holding): void {
    if (rows.length === 0) this.#unheld -= 1;
    for (const { lease } of rows) {
      if (lease === undefined) this.#unheld -= 1;
      else this.#letGoBy(lease);
    }
  }

  /** Whether anybody waits for another process: all that is watched is there, and under leases that `isOwn` knows, or nobody does. */
  waits(isOwn: (lease: LeaseId) => boolean): boolean {
    if (this.#unheld > 0) return true;
    for (const lease of this.#held.keys()) if (!isOwn(lease)) return true;
    return false;
  }

  /** The leases, among those whose turn it is, of processes that are dead. */
  dead(): readonly LeaseId[] {
    const turn = this.#turn();
    for (const [lease, process] of turn) {
      this.#processes.delete(lease);
      this.#processes.set(lease, process);
    }
    return turn.flatMap(([lease, process]) => (isDead(process) ? [lease] : []));
  }

  #turn(): readonly (readonly [LeaseId, Process])[] {
    const turn: (readonly [LeaseId, Process])[] = [];
    const looks = Math.max(LOOKS_A_TIME, Math.ceil(this.#processes.size / TIMES_A_ROUND));
    for (const process of this.#processes) {
      if (turn.length === looks) break;
      turn.push(process);
    }
    return turn;
  }

  #holdBy(lease: LeaseId, life: Life | undefined): void {
    const held = this.#held.get(lease) ?? 0;
    this.#held.set(lease, held + 1);
    if (held === 0 && life !== undefined && !this.#isOwn(life)) this.#processes.set(lease, { life, looks: 0 });
  }

  #letGoBy(lease: LeaseId): void {
    const held = this.#held.get(lease) ?? 0;
    if (held > 1) return void this.#held.set(lease, held - 1);
    this.#held.delete(lease);
    this.#processes.delete(lease);
  }

  #isOwn({ pid, started }: Life): boolean {
    return pid === this.#own?.pid && started === this.#own.started;
  }
}

function isDead(process: Process): boolean {
  process.looks += 1;
  return process.looks % THOROUGH_EVERY === 1 ? isOver(process.life) : isGone(process.life);
}
