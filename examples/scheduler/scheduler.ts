/** The job: whoever leads starts the next run, again and again. */

import { type Clock, type Leadership, Member, type MemberOptions, type Store, systemClock } from 'incumbent';

/** Where runs are written: a table of a database, for example. */
export interface RunTable {
  /** The number of the last run; 0 before the first. Rejects with `STALE_TERM` when the table has seen a newer term. */
  last(term: bigint): Promise<number>;
  /** Starts a run; rejects likewise. */
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
    // Reading tells the table the term, too: from here on no older leader's run is accepted, not even one that is on its way.
    const run = (await table.last(leadership.term)) + 1;
    await table.start(run, leadership.term);
    await pause(clock, everyMs, leadership.signal);
  }
}

/** Resolves after so long, or when the signal aborts; leaves no timer behind. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      cancel();
      signal.removeEventListener('abort', over);
      resolve();
    };
    const cancel = clock.schedule(ms, over);
    signal.addEventListener('abort', over);
    if (signal.aborted) over();
  });
}
