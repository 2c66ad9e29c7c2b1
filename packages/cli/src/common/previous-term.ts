import type { PreviousTerm } from '@incumbent/core';

/** How the term before a leader's ended, in words. */
export function showPrevious({ term, memberId, reason, vacantForMs }: PreviousTerm): string {
  const vacant = vacantForMs === undefined ? '' : `, vacant for ${vacantForMs / 1_000} s`;
  return `term ${term} of ${memberId}: ${reason}${vacant}`;
}
