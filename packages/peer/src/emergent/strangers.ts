/** Members that follow another coordinator, as far as this coordinator has heard of them. */

import type { Contact } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

const MAX_STRANGERS = 50;

/** Remembers a member that follows another coordinator, for the next search. */
export function addStranger(step: StepContext, { memberId, address }: Contact): void {
  const { strangers } = step.state;
  if (strangers.some((stranger) => stranger.memberId === memberId) || strangers.length >= MAX_STRANGERS) return;
  step.set({ strangers: [...strangers, { memberId, address }] });
}
