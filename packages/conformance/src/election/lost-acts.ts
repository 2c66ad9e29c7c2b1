/** What happens around a write that is lost. */

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
  /** The last term before. */
  readonly base: bigint;
  /** Another member, whose lease lasts as long. */
  openMember(memberId: string): Promise<TestMember>;
  /** The next write of `a`'s that is it will be lost. */
  lose(isIt: (write: Write) => boolean): void;
  /** Resolves when it has been. */
  readonly lost: Promise<void>;
}

export interface Act {
  /** The write. */
  readonly what: string;
  /** What is right then. */
  readonly so: string;
  readonly needs?: readonly Need[];
  readonly options?: MemberOptions;
  /** A lease ends by its time where the request is lost: it is short. */
  readonly leaseEnds?: boolean;
  /** Terms, those that were led in included. */
  readonly spends: Readonly<Record<Loss, 0 | 1 | 2>>;
  run(scene: Scene): Promise<void>;
}

export const LEADER: string = `elections/${NAME}/leader`;
export const CANDIDATES: string = `elections/${NAME}/candidates/`;

/** A swap one of whose changes is such. */
export function swapOf(isSuch: (change: Change) => boolean): (write: Write) => boolean {
  return (write) => write.operation === 'compareAndSwap' && write.changes.some(isSuch);
}

export const isClaim: (write: Write) => boolean = swapOf((change) => change.key === LEADER && change.expect === null && 'put' in change);

/** One term, and its number. */
export async function ledBy(arena: Arena, candidate: TestMember): Promise<bigint> {
  const leadership = await arena.campaign(candidate);
  await leadership.resign();
  return leadership.term;
}

/** Waits until these stand in the queue, in this order, and nobody else. */
export async function queueIs(arena: Arena, candidate: TestMember, expected: string): Promise<void> {
  const election = candidate.member.election(NAME);
  const ids = async (): Promise<string> => (await election.candidates()).map(({ memberId }) => memberId).join(' ');
  await arena.until(async () => (await ids()) === expected, `the queue is: ${expected}`);
}
