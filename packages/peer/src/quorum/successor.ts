/** The member to which a leader may hand over. */

import type { Rules } from './options.ts';
import { comparePositions } from './promise.ts';
import { followerOf, type Follower, type QuorumState } from './state.ts';

interface Answered extends Follower {
  readonly id: string;
}

/**
 * The best member by rank that campaigns, has answered the round from which this leadership is
 * valid, and whose data reach at least as far as those of all other members that have.
 */
export function successorOf(rules: Rules, state: QuorumState, to: string | undefined): string | undefined {
  const answered = answeredOf(rules, state);
  const isFit = ({ standing, position: own }: Answered): boolean =>
    standing && answered.every(({ position }) => comparePositions(own, position) >= 0);
  return answered.find((follower) => (to === undefined || follower.id === to) && isFit(follower))?.id;
}

/** Why `successorOf` returns undefined. */
export function whyNoSuccessor(rules: Rules, state: QuorumState, to: string | undefined): string {
  const answered = answeredOf(rules, state);
  if (to === undefined) {
    const stands = answered.some(({ standing }) => standing);
    if (!stands) return 'no other member campaigns and has answered the latest heartbeats';
    return 'the members that campaign have older data than another member';
  }
  if (to === state.memberId) return 'it is the leader itself';
  if (!rules.members.includes(to)) return 'it is not one of the members';
  const named = answered.find(({ id }) => id === to);
  if (named === undefined) return 'it has not answered the latest heartbeats';
  return named.standing ? "its data are older than another member's" : 'it does not campaign';
}

/** The members that have answered the round from which the leadership is valid, by rank. */
function answeredOf({ members }: Rules, { role }: QuorumState): readonly Answered[] {
  if (role.kind !== 'leading' || role.vouched === undefined) return [];
  const { vouched } = role;
  return members.flatMap((id) => {
    const follower = followerOf(role, id);
    return follower === undefined || follower.round < vouched.round ? [] : [{ id, ...follower }];
  });
}
