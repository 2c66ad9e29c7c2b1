/** Members of another coordinator's that a coordinator has heard of. */

import type { Contact } from '../algorithm.ts';
import type { Turn } from './turn.ts';

const MAX_STRANGERS = 50;

/** Somebody who is with another coordinator: to be asked for it. */
export function addStranger(turn: Turn, { memberId, address }: Contact): void {
  const { strangers } = turn.state;
  if (strangers.some((stranger) => stranger.memberId === memberId) || strangers.length >= MAX_STRANGERS) return;
  turn.set({ strangers: [...strangers, { memberId, address }] });
}
