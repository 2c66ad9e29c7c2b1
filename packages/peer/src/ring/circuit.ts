/** What goes around the ring: first who is there, then who leads. */

import { follow, giveUpElection, onElected, takeOffice, vouch } from '../best-effort/detector.ts';
import { nextRound, type Say } from '../best-effort/message.ts';
import { bestOf, type Standing } from '../best-effort/rank.ts';
import type { Procedure, Turn } from '../best-effort/turn.ts';
import { onPassed, passOn, type Token } from './passing.ts';

/** What goes around: the ids of all that would lead, or that of the best one only. */
export type RingVariant = 'live-set' | 'maximum';

/** Tokens that it remembers, so that one which comes twice is passed on once. */
const MAX_SEEN = 64;

/** Sends a token around; it is lost if it is not back when every other member could have been dead, twice over. */
export function begin(turn: Turn): void {
  const { rules, id } = turn;
  const attempt = Math.floor(turn.chance() * 2 ** 32);
  const untilMs = turn.nowMs + 2 * rules.members.length * rules.answerTimeoutMs;
  turn.set({ election: { kind: 'ring', attempt, untilMs } });
  const live = turn.mayLead ? [id] : [];
  if (turn.others.length === 0) conclude(turn, live);
  else passOn(turn, { type: 'collect', round: turn.state.round, initiator: id, attempt, hops: 1, live });
}

/** The token is lost, or nobody else is there. */
export function onTimeout(turn: Turn): void {
  giveUpElection(turn);
}

export function ringMessages(variant: RingVariant): Procedure['onMessage'] {
  return (turn, from, message) => {
    if (message.type === 'passed') return onPassed(turn, from, message);
    if (message.type !== 'collect' && message.type !== 'announce') return undefined;
    const { initiator, attempt, type: phase, round } = message;
    turn.send(from, { type: 'passed', round, initiator, attempt, phase });
    if (isSeen(turn, message) || message.hops > turn.rules.members.length) return undefined;
    return message.type === 'collect' ? onCollect(turn, message, variant) : onAnnounce(turn, from, message);
  };
}

function onCollect(turn: Turn, token: Say<'collect'>, variant: RingVariant): void {
  const { election } = turn.state;
  const { initiator, hops, live } = token;
  if (initiator === turn.id) return onReturn(turn, token);
  if (vouch(turn, initiator)) return undefined;
  // Its own token finds out the same: of two, the better initiator's goes on. (Chang and Roberts.)
  if (election?.kind === 'ring' && isBetter(turn, turn.id, initiator)) return undefined;
  const known = turn.mayLead && !live.includes(turn.id) ? [...live, turn.id] : live;
  return passOn(turn, { ...token, hops: hops + 1, live: variant === 'live-set' ? known : bestOnly(turn, known) });
}

/** Its own token is back. */
export function onReturn(turn: Turn, token: Token): void {
  const { election } = turn.state;
  if (token.type === 'collect' && election?.kind === 'ring' && election.attempt === token.attempt) conclude(turn, token.live);
}

/** The best of those that are there leads, and all are told. */
function conclude(turn: Turn, live: readonly string[]): void {
  const [leader] = bestOnly(turn, live);
  if (leader === undefined) return giveUpElection(turn);
  const { election, round: newest } = turn.state;
  const [round, attempt] = [nextRound(newest), election?.kind === 'ring' ? election.attempt : 0];
  turn.set({ round, election: undefined });
  if (leader === turn.id) takeOffice(turn, round);
  else follow(turn, { id: leader, round, weight: 0, atMs: turn.nowMs, byItself: false, successors: [] });
  if (turn.others.length > 0) passOn(turn, { type: 'announce', round, initiator: turn.id, attempt, hops: 1, leader });
}

function onAnnounce(turn: Turn, from: string, token: Say<'announce'>): void {
  const { initiator, hops, round, leader } = token;
  if (initiator === turn.id) return undefined;
  onElected(turn, turn.state.leading === undefined ? from : initiator, { type: 'elected', round, leader, weight: 0 });
  return passOn(turn, { ...token, hops: hops + 1 });
}

function isSeen(turn: Turn, { initiator, attempt, type }: Token): boolean {
  const name = `${type} ${initiator} ${attempt}`;
  const { seen } = turn.state;
  if (seen.includes(name)) return true;
  turn.set({ seen: [...seen, name].slice(-MAX_SEEN) });
  return false;
}

function bestOnly(turn: Turn, ids: readonly string[]): readonly string[] {
  const best = bestOf<Standing>(
    turn.rules,
    ids.map((id) => ({ id, weight: 0 })),
  );
  return best === undefined ? [] : [best.id];
}

function isBetter({ rules: { ranks } }: Turn, a: string, b: string): boolean {
  return (ranks.get(a) ?? Infinity) < (ranks.get(b) ?? Infinity);
}
