/**
 * Finds out which processes have died among those whose leases hold watched keys. Checks a few
 * processes at a time, so that a poll costs about the same however many there are.
 */

import type { LeaseId } from '@incumbent/core';

import { hasDied, isAbsent, type ProcessIdentity } from './host/process-identity.ts';
import type { Row } from './schema/tables.ts';

/** Each call checks at least this many processes… */
const MIN_CHECKS = 4;
/** …and enough to check every process once in this many calls. */
const CALLS_PER_ROUND = 20;
/**
 * Every fifth check of a process also finds zombies and reused ids. It reads the process's state,
 * which costs ten times as much as asking whether the id exists.
 */
const FULL_CHECK_EVERY = 5;

interface Holder {
  readonly process: ProcessIdentity;
  checks: number;
}

/** What one watch shows: the row of one key, the rows below a prefix, or no row. */
export type ShownRows = readonly Pick<Row, 'lease' | 'holder'>[];

export class HolderMonitor {
  readonly #own: ProcessIdentity | undefined;
  /** How many watched rows each lease holds. */
  readonly #rowsOf = new Map<LeaseId, number>();
  /** How many watched keys are absent or have no lease. */
  #withoutLease = 0;
  /** By lease, in the order in which they are checked. */
  readonly #holders = new Map<LeaseId, Holder>();

  /** `own` is this process, which is never checked. */
  constructor(own: ProcessIdentity | undefined) {
    this.#own = own;
  }

  /** Adds what a watch shows. */
  add(rows: ShownRows): void {
    if (rows.length === 0) this.#withoutLease += 1;
    for (const { lease, holder } of rows) {
      if (lease === undefined) this.#withoutLease += 1;
      else this.#addRow(lease, holder);
    }
  }

  /**
   * Removes what a watch showed. Add what replaces it first: then a process that holds both keeps
   * its place in the order of checks.
   */
  remove(rows: ShownRows): void {
    if (rows.length === 0) this.#withoutLease -= 1;
    for (const { lease } of rows) {
      if (lease === undefined) this.#withoutLease -= 1;
      else this.#removeRow(lease);
    }
  }

  /**
   * Whether another process can change what is watched: a watched key is absent, has no lease, or
   * is held by a lease that `isOwn` does not know.
   */
  waitsForOthers(isOwn: (lease: LeaseId) => boolean): boolean {
    if (this.#withoutLease > 0) return true;
    for (const lease of this.#rowsOf.keys()) if (!isOwn(lease)) return true;
    return false;
  }

  /** Checks the next processes, and returns the leases of those that have died. */
  findDead(): readonly LeaseId[] {
    const next = this.#next();
    for (const [lease, holder] of next) {
      this.#holders.delete(lease);
      this.#holders.set(lease, holder);
    }
    return next.flatMap(([lease, holder]) => (check(holder) ? [lease] : []));
  }

  #next(): readonly (readonly [LeaseId, Holder])[] {
    const count = Math.max(MIN_CHECKS, Math.ceil(this.#holders.size / CALLS_PER_ROUND));
    const next: (readonly [LeaseId, Holder])[] = [];
    for (const entry of this.#holders) {
      if (next.length === count) break;
      next.push(entry);
    }
    return next;
  }

  #addRow(lease: LeaseId, holder: ProcessIdentity | undefined): void {
    const rows = this.#rowsOf.get(lease) ?? 0;
    this.#rowsOf.set(lease, rows + 1);
    if (rows === 0 && holder !== undefined && !this.#isOwn(holder)) this.#holders.set(lease, { process: holder, checks: 0 });
  }

  #removeRow(lease: LeaseId): void {
    const rows = this.#rowsOf.get(lease) ?? 0;
    if (rows > 1) return void this.#rowsOf.set(lease, rows - 1);
    this.#rowsOf.delete(lease);
    this.#holders.delete(lease);
  }

  #isOwn({ pid, started }: ProcessIdentity): boolean {
    return pid === this.#own?.pid && started === this.#own.started;
  }
}

function check(holder: Holder): boolean {
  holder.checks += 1;
  return holder.checks % FULL_CHECK_EVERY === 1 ? hasDied(holder.process) : isAbsent(holder.process);
}
