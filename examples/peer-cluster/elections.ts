/** The elections to choose from, with the same times for all. */

import { bully, candidateOrdinary, invitation, nextInLine, quorum, ring, type Algorithm } from '@incumbent/peer';

export const names = ['quorum', 'bully', 'nextInLine', 'candidateOrdinary', 'invitation', 'ring'] as const;

export type Name = (typeof names)[number];

export function isName(word: string): word is Name {
  return names.some((name) => name === word);
}

/** The first three, if only candidates can be elected. */
export function candidatesOf(name: Name, members: readonly string[]): readonly string[] {
  return name === 'candidateOrdinary' ? members.slice(0, 3) : members;
}

/**
 * A dead leader is followed after about half a second. With `quorum`, after half a second to one
 * second.
 */
export function electionOf(name: Name, members: readonly string[]): Algorithm {
  const options = { members, failureTimeoutMs: 500 };
  switch (name) {
    case 'quorum':
      return quorum({ members, electionTimeoutMinMs: 500 });
    case 'bully':
      return bully(options);
    case 'nextInLine':
      return nextInLine(options);
    case 'candidateOrdinary':
      return candidateOrdinary({ ...options, candidates: candidatesOf(name, members) });
    case 'invitation':
      return invitation(options);
    case 'ring':
      return ring(options);
    default:
      return name satisfies never;
  }
}
