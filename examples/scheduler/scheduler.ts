/** The job: the leader starts one run after the other. */

import { type Clock, type Leadership, Member, type MemberOptions, sleep, type Store, systemClock } from 'incumbent';

/** Where runs are recorded, such as a table of a database. */
export interface RunTable {
  /**
   * The number of the last run; 0 before the first. Rejects with `STALE_TERM` after a newer term.
   */
  last(term: bigint): Promise<number>;
  /** Starts a run. Rejects with `STALE_TERM` after a newer term. */
  start(run: number, term: bigint): Promise<void>;
}

export interface SchedulerOptions extends MemberOptions {
  readonly everyMs?: number;
  readonly signal: AbortSignal;
}

/** Campaigns, and schedules while it leads, until the signal aborts. */
export async function schedule(store: Store, table: RunTable, { everyMs = 1_000, signal, ...options }: SchedulerOptions): Promise<void> {
  const clock = options.clock ?? systemClock;
  await using member = new Member(store, options);
  try {
    await member.election('scheduler').lead((leadership) => lead(leadership, table, clock, everyMs), { signal });
  } catch (error) {
    if (error !== signal.reason) throw error;
  }
}

async function lead(leadership: Leadership, table: RunTable, clock: Clock, everyMs: number): Promise<void> {
  while (leadership.isValid()) {
    // The read carries the term too: from here on the table rejects runs of older leaders, even
    // those that are under way.
    const run = (await table.last(leadership.term)) + 1;
    await table.start(run, leadership.term);
    await sleep(clock, everyMs, leadership.signal);
  }
}
