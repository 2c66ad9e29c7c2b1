/** The program, from its start in one term of leadership until nothing of it is left. */

import type { Leadership, LeadershipEnd } from '@incumbent/core';

import { ProcessGroup, type ProgramEnd } from './process-group.ts';
import type { RunLog } from './log.ts';
import type { Signals } from './signals.ts';
import { Stopper } from './stopper.ts';
import type { RunTiming } from './timing.ts';

export interface StintContext {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly election: string;
  readonly timing: RunTiming;
  /** What the program gets to end after a SIGTERM or SIGINT that was passed on, in ms: leadership goes on meanwhile. */
  readonly stopTimeoutMs: number;
  readonly signals: Signals;
  readonly log: RunLog;
  /** Told of the group in the moment that it is there; what it returns, when nothing of the group is left. */
  readonly bindGroup: (group: number) => () => void;
}

/**
 * Resolves with how the program ended, when the whole group is gone: not before may leadership be given up. When leadership ends first, the group is ended
 * within what the lease leaves for it: SIGTERM, the grace, SIGKILL. Rejects with a `CliError` where the program cannot be started.
 */
export async function runStint(leadership: Leadership, context: StintContext): Promise<ProgramEnd> {
  const { command, election, signals, stopTimeoutMs, timing, log } = context;
  const env = {
    ...context.env,
    INCUMBENT_TERM: String(leadership.term),
    INCUMBENT_ELECTION: election,
    INCUMBENT_MEMBER: leadership.memberId,
  };
  const group = new ProcessGroup(command, env);
  const release = group.id === undefined ? undefined : context.bindGroup(group.id);
  const stopper = new Stopper(group);
  const stop = (): void => stopper.killIn(stopTimeoutMs);
  signals.passTo(group);
  signals.stopping.addEventListener('abort', stop);
  let isOver = false;
  const told = leadership.ended.then((end) => {
    // Given up because the program had ended: nothing to tell.
    if (isOver && !end.lost) return;
    const leftMs = group.isGone ? undefined : graceOf(end, timing);
    log.ended(end, leftMs);
    if (leftMs !== undefined) stopper.terminate(leftMs);
  });
  try {
    const end = await group.ended;
    // What it left behind in its group ends with it.
    if (!group.isGone) stopper.terminate(timing.graceMs);
    await group.gone();
    isOver = true;
    log.programEnded(end, leadership.term);
    // To ask ends what is over: the program may have been killed while this process stood still.
    if (!leadership.isValid()) await told;
    return end;
  } finally {
    signals.passTo(undefined);
    signals.stopping.removeEventListener('abort', stop);
    stopper.cancel();
    release?.();
  }
}

/** What is left for SIGTERM to take effect: none where the lease may be over already. */
function graceOf({ drainMs }: LeadershipEnd, { graceMs, killMs }: RunTiming): number {
  return Math.max(Math.min(graceMs, drainMs - killMs), 0);
}
