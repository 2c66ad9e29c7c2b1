/** What the application sees of a member's state. */

import type { Validity, PeerMembership, PeerView } from '../algorithm.ts';
import { coordinatorOf, isEnough, type List } from './list.ts';
import type { Rules } from './options.ts';
import type { EmergentState } from './state.ts';

export function validityOf({ validMs, safeMs }: Rules, { leading, beatAt }: EmergentState): Validity<'bestEffort'> | undefined {
  return leading === undefined ? undefined : { term: undefined, round: leading, from: beatAt, forMs: validMs, safeForMs: safeMs };
}

export function viewOf(rules: Rules, { memberId, phase, leading }: EmergentState): PeerView<'bestEffort'> {
  if (phase.kind !== 'present') return { state: 'unknown' };
  const first = coordinatorOf(phase.list);
  const leads = first.memberId === memberId ? leading !== undefined : first.standing && isEnough(rules, phase.list);
  return leads ? { state: 'leader', memberId: first.memberId, term: undefined, round: phase.list.round } : { state: 'unknown' };
}

export function membershipOf(rules: Rules, list: List): PeerMembership {
  const { version, members } = list;
  return {
    version,
    coordinator: coordinatorOf(list).memberId,
    members: members
      .toSorted((a, b) => a.age - b.age)
      .map(({ memberId, address, age, standing }) => ({ memberId, address, age, standing })),
    isEnough: isEnough(rules, list),
  };
}
