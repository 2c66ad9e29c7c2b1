/**
 * The election of the bully algorithm. The member that notices the leader's failure asks the
 * members ranked above it, and grants the leadership to the best one that answers. That member
 * informs all others.
 */

import { abandonElection, answerWithLeader } from '../best-effort/detector.ts';
import { leadAndAnnounce } from '../best-effort/leader.ts';
import type { OwnMessage, MessageOf } from '../best-effort/message.ts';
import { answer, ask, electable, onAnswer, type Asking } from '../best-effort/poll.ts';
import { goesBefore } from '../best-effort/rank.ts';
import type { StepContext } from '../best-effort/step-context.ts';

/**
 * Asks the members that have precedence over this one. A member that cannot lead asks all others.
 * If there is nobody to ask, this member leads.
 */
export function begin(step: StepContext): void {
  const { rules, own } = step;
  const above = step.mayLead ? step.others.filter((id) => goesBefore(rules, step.precedenceOf(id), own)) : step.others;
  if (above.length > 0) ask(step, above, 'election');
  else if (step.mayLead) leadAndAnnounce(step);
  else abandonElection(step);
}

export function onMessage(step: StepContext, from: string, message: OwnMessage | MessageOf<'alive'>): void {
  if (message.type === 'election') return onElection(step, from);
  if (message.type === 'grant') return onGrant(step, from);
  const asking = message.type === 'alive' ? onAnswer(step, from, message) : undefined;
  return asking === undefined ? undefined : choose(step, asking);
}

export function onTimeout(step: StepContext): void {
  const { election } = step.state;
  if (election?.kind === 'asking') choose(step, election);
  else if (election?.kind === 'granting') grant(step, election.rest);
}

function onElection(step: StepContext, from: string): void {
  if (!answerWithLeader(step, from)) answer(step, from);
}

function choose(step: StepContext, asking: Asking): void {
  grant(step, electable(step, asking));
}

/**
 * Asks the best member to lead, and waits for its announcement. If none arrives, asks the next one.
 */
function grant(step: StepContext, [best, ...rest]: readonly string[]): void {
  if (best === undefined) return abandonElection(step);
  if (best === step.id) return leadAndAnnounce(step);
  step.send(best, { type: 'grant', round: step.state.round });
  return step.set({ election: { kind: 'granting', best, rest, untilMs: step.nowMs + 2 * step.rules.answerTimeoutMs } });
}

function onGrant(step: StepContext, from: string): void {
  if (!answerWithLeader(step, from) && step.mayLead) leadAndAnnounce(step);
}
