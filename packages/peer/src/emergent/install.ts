/** Takes a list for its own. */

import { coordinatorOf, type List } from './list.ts';
import type { Role } from './state.ts';
import type { Turn } from './turn.ts';
import { membershipOf } from './view.ts';
import { neighbours, watchOver } from './watch.ts';

/** Of which this member is one. Whoever is the first in it keeps it from now on. */
export function install(turn: Turn, list: List): void {
  const { present, state, rules, nowMs } = turn;
  const watch = watchOver(turn, list);
  const isKeeper = coordinatorOf(list).memberId === state.memberId;
  const wasKeeper = present?.role.kind === 'coordinating';
  const role: Role = !isKeeper ? { kind: 'following' } : wasKeeper ? present.role : newKeeper;
  turn.set({
    phase: { kind: 'present', list, watch, targets: neighbours(rules, list, state.memberId, 1), missingSinceMs: undefined, role },
  });
  turn.seen(list.version);
  if (isKeeper && !wasKeeper) turn.set({ lostAtMs: nowMs, searchAtMs: nowMs + turn.chance() * rules.searchEveryMs });
  turn.event({ type: 'membership', membership: membershipOf(rules, list) });
}

const newKeeper: Role = { kind: 'coordinating', pending: undefined, joiners: [], leaving: [], missingSinceMs: undefined };
