/** A member that stands for election for as long as a scenario lasts, and what the scenarios ask of the queue and of leases. */

import assert from 'node:assert/strict';
import { StoreError, type Entry, type LeaseId, type Leadership, type StoreErrorCode } from '@incumbent/core';
import { NAME, type Arena, type TestMember } from '../election/arena.ts';
import { begun } from '../time.ts';

export const CANDIDATES: string = `elections/${NAME}/candidates`;
export const LEADER: string = `elections/${NAME}/leader`;

/** What an operator's word, or the end of a lease that lives, takes to reach whoever leads by it, in ms. */
export const NOTICE_MS = 1_000;

/** Leads whenever it can, for as long as it can. */
export class StandingCandidate {
  readonly candidate: TestMember;
  /** Every leadership that it had, the latest last. */
  readonly held: Leadership[] = [];
  readonly #over = new AbortController();
  readonly #done: Promise<unknown>;

  constructor(arena: Arena, candidate: TestMember) {
    this.candidate = candidate;
    const work = async (leadership: Leadership): Promise<void> => {
      arena.record(leadership);
      this.held.push(leadership);
      await leadership.ended;
    };
    this.#done = begun(candidate.member.election(NAME).lead(work, { signal: this.#over.signal }));
  }

  get leads(): boolean {
    return this.held.at(-1)?.isValid() === true;
  }

  get terms(): readonly bigint[] {
    return this.held.map(({ term }) => term);
  }

  /** The leadership that it has; it must have one. */
  get leadership(): Leadership {
    const leadership = this.held.at(-1);
    assert.ok(leadership?.isValid() === true, `${this.candidate.member.memberId} leads`);
    return leadership;
  }

  /** Stands no longer; resolves when that is over, or the member was closed. */
  async stop(): Promise<void> {
    const reason = new Error('the scenario is over');
    this.#over.abort(reason);
    await this.#done.catch((error: unknown) => {
      if (error !== reason) throw error;
    });
  }
}

/** Stands that join one after the other, so that their order is known. */
export async function standInOrder(arena: Arena, ...memberIds: readonly string[]): Promise<readonly StandingCandidate[]> {
  const standing: StandingCandidate[] = [];
  for (const memberId of memberIds) {
    const candidate = await arena.member(memberId);
    standing.push(new StandingCandidate(arena, candidate));
    await arena.queued(candidate);
  }
  await arena.until(() => standing[0]?.leads === true, `${memberIds[0]} leads`);
  return standing;
}

/** Waits until exactly one of them leads, and gives that one. */
export async function oneLeads(arena: Arena, standing: readonly StandingCandidate[], withinMs?: number): Promise<StandingCandidate> {
  await arena.until(() => standing.filter(({ leads }) => leads).length === 1, 'exactly one leads', withinMs);
  const leader = standing.find(({ leads }) => leads);
  assert.ok(leader !== undefined, 'it leads for longer than a moment');
  return leader;
}

/** What is in the queue, by the order of joining. */
export async function queueOf(arena: Arena, { store }: Pick<TestMember, 'store'>): Promise<readonly Entry[]> {
  return store.list(CANDIDATES, { timeoutMs: arena.harness.timeoutMs });
}

/** Whose entries are in the queue, by the order of joining: a member with two entries is named twice. */
export async function idsInQueue(arena: Arena, candidate: Pick<TestMember, 'store'>): Promise<string> {
  return (await queueOf(arena, candidate)).map(({ name }) => name.slice(0, name.indexOf('~'))).join(' ');
}

/** The lease that a member lives by. */
export async function leaseOf(arena: Arena, { store, member }: TestMember): Promise<LeaseId> {
  const entry = await store.read(`members/${member.memberId}`, { timeoutMs: arena.harness.timeoutMs });
  assert.ok(entry?.lease !== undefined, `${member.memberId} has a session`);
  return entry.lease;
}

/** What a client is told when the link goes while its call is under way. */
export function lost(code: StoreErrorCode = 'CONNECTION_LOST'): StoreError {
  return new StoreError(code, 'unknown', 'planted: nobody knows what has become of it');
}
