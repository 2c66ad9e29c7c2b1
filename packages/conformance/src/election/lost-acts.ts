/** What happens before and after a lost write. */

import type { Change, MemberOptions } from '@incumbent/core';
import type { Need } from '../case.ts';
import type { Loss } from '../lost-write.ts';
import { NAME, type Arena, type TestMember } from './arena.ts';
import type { Write } from './lossy-store.ts';

export interface Scene {
  readonly arena: Arena;
  /** The member whose write is lost. */
  readonly a: TestMember;
  readonly loss: Loss;
  /** The last term before the act. */
  readonly base: bigint;
  /** Opens another member with the same ttl. */
  openMember(memberId: string): Promise<TestMember>;
  /** Loses the next write of `a` for which `isIt` is true. */
  lose(isIt: (write: Write) => boolean): void;
  /** Resolves when that write was lost. */
  readonly lost: Promise<void>;
}

export interface Act {
  /** The write. */
  readonly what: string;
  /** The condition that must be true afterwards, for the name of the case. */
  readonly so: string;
  readonly needs?: readonly Need[];
  readonly options?: MemberOptions;
  /** If the request is lost, a lease must expire, so its ttl is short. */
  readonly leaseEnds?: boolean;
  /** How many terms the act uses, including those in which a member led. */
  readonly spends: Readonly<Record<Loss, 0 | 1 | 2>>;
  run(scene: Scene): Promise<void>;
}

export const LEADER: string = `elections/${NAME}/leader`;
export const CANDIDATES: string = `elections/${NAME}/candidates/`;

/** Selects swaps that contain such a change. */
export function swapOf(isSuch: (change: Change) => boolean): (write: Write) => boolean {
  return (write) => write.operation === 'compareAndSwap' && write.changes.some(isSuch);
}

export const isClaim: (write: Write) => boolean = swapOf((change) => change.key === LEADER && change.expect === null && 'put' in change);

/** Lets the candidate lead for one term, and returns the number of the term. */
export async function ledBy(arena: Arena, candidate: TestMember): Promise<bigint> {
  const leadership = await arena.campaign(candidate);
  await leadership.resign();
  return leadership.term;
}

/** Waits until the queue contains exactly these members, in this order. */
export async function queueIs(arena: Arena, candidate: TestMember, expected: string): Promise<void> {
  const election = candidate.member.election(NAME);
  const ids = async (): Promise<string> => (await election.candidates()).map(({ memberId }) => memberId).join(' ');
  await arena.until(async () => (await ids()) === expected, `the queue is: ${expected}`);
}
