/** The defaults of the algorithms in which one leader leads all members and informs all of them. */

import { onHeartbeat } from './detector.ts';
import { leadAndAnnounce, beat } from './leader.ts';
import type { Rules } from './options.ts';
import type { Led, Procedure, StepContext } from './step-context.ts';

type Own = Pick<Procedure, 'begin' | 'onTimeout' | 'onMessage' | 'messageTypes'> & Partial<Procedure>;

export function procedureOf(rules: Rules, own: Own): Procedure {
  return {
    rules,
    preempts: false,
    forgiveMs: undefined,
    successors: 0,
    listensMs: rules.failureTimeoutMs,
    isEligible: () => true,
    delayMs: () => 0,
    onHeartbeat,
    onHandover: leadAndAnnounce,
    release,
    attend,
    attendAtMs: () => undefined,
    ...own,
  };
}

function release(step: StepContext, { round }: Led, to: string | undefined): void {
  if (to === undefined) step.broadcast({ type: 'resigned', round });
  else step.send(to, { type: 'handover', round, group: [] });
}

function attend(step: StepContext): void {
  const { leading } = step.state;
  if (leading !== undefined && step.nowMs >= leading.heartbeatAtMs) beat(step, step.others, step.own.weight);
}
