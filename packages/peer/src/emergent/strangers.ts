/** Members of another coordinator's that a coordinator has heard of. */

import type { Contact } from '../algorithm.ts';
import type { StepContext } from './step-context.ts';

const MAX_STRANGERS = 50;

/** Somebody who is with another coordinator: to be asked for it. */
export function addStranger(step: StepContext, { memberId, address }: Contact): void {
  const { strangers } = step.state;
  if (strangers.some((stranger) => stranger.memberId === memberId) || strangers.length >= MAX_STRANGERS) return;
  step.set({ strangers: [...strangers, { memberId, address }] });
}
