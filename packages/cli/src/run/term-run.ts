/** Runs the program for one term of leadership, until every process of its group has ended. */

import type { Leadership, LeadershipEnd } from '@incumbent/core';

import { ProcessGroup, type ProgramEnd } from './process-group.ts';
import type { RunLog } from './log.ts';
import type { Signals } from './signals.ts';
import { Stopper } from './stopper.ts';
import type { RunTiming } from './timing.ts';

export interface TermRunOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly election: string;
  /** The slot of the leadership, if the election has slots. */
  readonly slot: number | undefined;
  readonly timing: RunTiming;
  /**
   * Time between a SIGTERM or SIGINT that was passed on and SIGKILL, in ms. This process leads
   * meanwhile.
   */
  readonly stopTimeoutMs: number;
  readonly signals: Signals;
  readonly log: RunLog;
  /** Called as soon as the group exists. The returned function is called when the group is gone. */
  readonly bindGroup: (group: number) => () => void;
}

/**
 * Starts the program, and resolves with its end when its whole group is gone; only then may
 * leadership be released. If leadership ends first, ends the group within the lease: SIGTERM, the
 * grace, SIGKILL. Rejects with `NotStarted` if the program cannot be started.
 */
export async function runTerm(leadership: Leadership, options: TermRunOptions): Promise<ProgramEnd> {
  const { command, election, slot, signals, stopTimeoutMs, timing, log } = options;
  const env = {
    ...options.env,
    INCUMBENT_TERM: String(leadership.term),
    INCUMBENT_ELECTION: election,
    INCUMBENT_MEMBER: leadership.memberId,
    // An outer run may have set it.
    INCUMBENT_SLOT: slot === undefined ? undefined : String(slot),
  };
  const group = new ProcessGroup(command, env);
  const release = group.id === undefined ? undefined : options.bindGroup(group.id);
  const stopper = new Stopper(group);
  const stop = (): void => stopper.killIn(stopTimeoutMs);
  signals.passTo(group);
  signals.stopping.addEventListener('abort', stop);
  let isGroupGone = false;
  const leadershipEnd = leadership.ended.then((end) => {
    // Resigned because the program had ended: nothing to stop, nothing to print.
    if (isGroupGone && !end.lost) return;
    const graceMs = group.isGone ? undefined : remainingGraceMs(end, timing);
    log.ended(end, graceMs);
    if (graceMs !== undefined) stopper.terminate(graceMs);
  });
  try {
    const end = await group.ended;
    // Ends what the program left in its group.
    if (!group.isGone) stopper.terminate(timing.graceMs);
    await group.gone();
    isGroupGone = true;
    log.programEnded(end, leadership.term);
    // This process may have been paused past its deadline while the reaper killed the program.
    // Calling isValid() then ends the leadership, and its end must be printed first.
    if (!leadership.isValid()) await leadershipEnd;
    return end;
  } finally {
    signals.passTo(undefined);
    signals.stopping.removeEventListener('abort', stop);
    stopper.cancel();
    release?.();
  }
}

/** The grace that still fits into the lease; 0 if the lease may have expired already. */
function remainingGraceMs({ drainMs }: LeadershipEnd, { graceMs, killMs }: RunTiming): number {
  return Math.max(Math.min(graceMs, drainMs - killMs), 0);
}
