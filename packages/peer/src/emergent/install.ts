/** Adopts a list. */

import { coordinatorOf, type List } from './list.ts';
import type { Role } from './state.ts';
import type { StepContext } from './step-context.ts';
import { membershipOf } from './view.ts';
import { neighbours, watchOver } from './watch.ts';

/**
 * Adopts a list that contains this member. If this member is the first in it, it becomes the
 * coordinator.
 */
export function install(step: StepContext, list: List): void {
  const { present, state, rules, nowMs } = step;
  const watch = watchOver(step, list);
  const isCoordinator = coordinatorOf(list).memberId === state.memberId;
  const wasCoordinator = present?.role.kind === 'coordinating';
  const role: Role = !isCoordinator ? { kind: 'following' } : wasCoordinator ? present.role : newCoordinator;
  step.set({
    phase: { kind: 'present', list, watch, targets: neighbours(rules, list, state.memberId, 1), missingSinceMs: undefined, role },
  });
  step.seen(list.version);
  if (isCoordinator && !wasCoordinator) step.set({ lostAtMs: nowMs, searchAtMs: nowMs + step.random() * rules.searchEveryMs });
  step.event({ type: 'membership', membership: membershipOf(rules, list) });
}

const newCoordinator: Role = { kind: 'coordinating', pending: undefined, joiners: [], leaving: [], missingSinceMs: undefined };
