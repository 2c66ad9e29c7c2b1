/**
 * The tokens on the ring. The first lap collects the live members, the second announces the leader.
 */

import { follow, abandonElection, onElected, becomeLeader, answerWithLeader } from '../best-effort/detector.ts';
import { nextRound, type MessageOf } from '../best-effort/message.ts';
import { bestOf, type Precedence } from '../best-effort/rank.ts';
import type { Procedure, StepContext } from '../best-effort/step-context.ts';
import { onPassed, passToken, type Token } from './passing.ts';

/**
 * What a token collects. `live-set`: the ids of all live members that campaign. `maximum`: only the
 * best of them.
 */
export type RingVariant = 'live-set' | 'maximum';

/** How many of the latest tokens a member remembers. It forwards a repeated token only once. */
const MAX_SEEN = 64;

/**
 * Sends a token around the ring. The member gives it up after twice the time that the lap takes if
 * every other member has failed.
 */
export function begin(step: StepContext): void {
  const { rules, id } = step;
  const attempt = Math.floor(step.random() * 2 ** 32);
  const untilMs = step.nowMs + 2 * rules.members.length * rules.answerTimeoutMs;
  step.set({ election: { kind: 'ring', attempt, untilMs } });
  const live = step.mayLead ? [id] : [];
  if (step.others.length === 0) conclude(step, live);
  else passToken(step, { type: 'collect', round: step.state.round, initiator: id, attempt, hops: 1, live });
}

/** The token was lost, or no other member is alive. */
export function onTimeout(step: StepContext): void {
  abandonElection(step);
}

export function ringMessages(variant: RingVariant): Procedure['onMessage'] {
  return (step, from, message) => {
    if (message.type === 'passed') return onPassed(step, from, message);
    if (message.type !== 'collect' && message.type !== 'announce') return undefined;
    const { initiator, attempt, type: phase, round } = message;
    step.send(from, { type: 'passed', round, initiator, attempt, phase });
    if (isSeen(step, message) || message.hops > step.rules.members.length) return undefined;
    return message.type === 'collect' ? onCollect(step, message, variant) : onAnnounce(step, from, message);
  };
}

function onCollect(step: StepContext, token: MessageOf<'collect'>, variant: RingVariant): void {
  const { election } = step.state;
  const { initiator, hops, live } = token;
  if (initiator === step.id) return onReturn(step, token);
  if (answerWithLeader(step, initiator)) return undefined;
  // This member's own token collects the same members. Of two tokens, only that of the better
  // initiator continues. (Chang and Roberts.)
  if (election?.kind === 'ring' && isBetter(step, step.id, initiator)) return undefined;
  const known = step.mayLead && !live.includes(step.id) ? [...live, step.id] : live;
  return passToken(step, { ...token, hops: hops + 1, live: variant === 'live-set' ? known : bestOnly(step, known) });
}

/** This member's own token has returned. */
export function onReturn(step: StepContext, token: Token): void {
  const { election } = step.state;
  if (token.type === 'collect' && election?.kind === 'ring' && election.attempt === token.attempt) conclude(step, token.live);
}

/**
 * Makes the best live member the leader, and announces it to all members. This member may have
 * stopped campaigning since it sent its token.
 */
function conclude(step: StepContext, live: readonly string[]): void {
  const [leader] = bestOnly(
    step,
    live.filter((id) => id !== step.id || step.mayLead),
  );
  if (leader === undefined) return abandonElection(step);
  const { election, round: newest } = step.state;
  const [round, attempt] = [nextRound(newest), election?.kind === 'ring' ? election.attempt : 0];
  step.set({ round, election: undefined });
  if (leader === step.id) becomeLeader(step, round);
  else follow(step, { id: leader, round, weight: 0, atMs: step.nowMs, byItself: false, successors: [] });
  if (step.others.length > 0) passToken(step, { type: 'announce', round, initiator: step.id, attempt, hops: 1, leader });
}

function onAnnounce(step: StepContext, from: string, token: MessageOf<'announce'>): void {
  const { initiator, hops, round, leader } = token;
  if (initiator === step.id) return undefined;
  onElected(step, step.state.leading === undefined ? from : initiator, { type: 'elected', round, leader, weight: 0 });
  return passToken(step, { ...token, hops: hops + 1 });
}

function isSeen(step: StepContext, { initiator, attempt, type }: Token): boolean {
  const name = `${type} ${initiator} ${attempt}`;
  const { seen } = step.state;
  if (seen.includes(name)) return true;
  step.set({ seen: [...seen, name].slice(-MAX_SEEN) });
  return false;
}

function bestOnly(step: StepContext, ids: readonly string[]): readonly string[] {
  const best = bestOf<Precedence>(
    step.rules,
    ids.map((id) => ({ id, weight: 0 })),
  );
  return best === undefined ? [] : [best.id];
}

function isBetter({ rules: { ranks } }: StepContext, a: string, b: string): boolean {
  return (ranks.get(a) ?? Infinity) < (ranks.get(b) ?? Infinity);
}
