/** What the algorithms that have one leader for all members, and tell all of them, do in the same way. */

import { onHeartbeat } from './detector.ts';
import { leadAndTell, beat } from './leader.ts';
import type { Rules } from './options.ts';
import type { Led, Procedure, Turn } from './turn.ts';

type Own = Pick<Procedure, 'begin' | 'onTimeout' | 'onMessage' | 'speaks'> & Partial<Procedure>;

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
    onHandover: leadAndTell,
    release,
    attend,
    attendAtMs: () => undefined,
    ...own,
  };
}

function release(turn: Turn, { round }: Led, to: string | undefined): void {
  if (to === undefined) turn.tell(turn.others, { type: 'resigned', round });
  else turn.send(to, { type: 'handover', round, group: [] });
}

function attend(turn: Turn): void {
  const { leading } = turn.state;
  if (leading !== undefined && turn.nowMs >= leading.heartbeatAtMs) beat(turn, turn.others, turn.own.weight);
}
