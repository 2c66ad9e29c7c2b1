/**
 * A member that is a candidate for a whole scenario, and helpers that read the queue and leases.
 */

import assert from 'node:assert/strict';
import { StoreError, type Entry, type LeaseId, type Leadership, type StoreErrorCode } from '@incumbent/core';
import { NAME, type Arena, type TestMember } from '../election/arena.ts';
import { begun } from '../time.ts';

export const CANDIDATES: string = `elections/${NAME}/candidates`;
export const LEADER: string = `elections/${NAME}/leader`;

/**
 * How long it takes until a leader learns of an operator's change, or of the end of its live lease,
 * in ms.
 */
export const NOTICE_MS = 1_000;

/** Leads whenever it can, for as long as it can. */
export class StandingCandidate {
  readonly candidate: TestMember;
  /** Every leadership that it had, the latest last. */
  readonly leaderships: Leadership[] = [];
  readonly #over = new AbortController();
  readonly #done: Promise<unknown>;

  constructor(arena: Arena, candidate: TestMember) {
    this.candidate = candidate;
    const work = async (leadership: Leadership): Promise<void> => {
      arena.record(leadership);
      this.leaderships.push(leadership);
      await leadership.ended;
    };
    this.#done = begun(candidate.member.election(NAME).lead(work, { signal: this.#over.signal }));
  }

  get leads(): boolean {
    return this.leaderships.at(-1)?.isValid() === true;
  }

  get terms(): readonly bigint[] {
    return this.leaderships.map(({ term }) => term);
  }

  /** The current leadership. There must be one. */
  get leadership(): Leadership {
    const leadership = this.leaderships.at(-1);
    assert.ok(leadership?.isValid() === true, `${this.candidate.member.memberId} leads`);
    return leadership;
  }

  /** Stops campaigning. Resolves when the campaign has ended, or when the member was closed. */
  async stop(): Promise<void> {
    const reason = new Error('the scenario is over');
    this.#over.abort(reason);
    await this.#done.catch((error: unknown) => {
      if (error !== reason) throw error;
    });
  }
}

/** Starts candidates one after the other, so that their order is known. */
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

/** Waits until exactly one of them leads, and returns it. */
export async function oneLeads(arena: Arena, standing: readonly StandingCandidate[], withinMs?: number): Promise<StandingCandidate> {
  await arena.until(() => standing.filter(({ leads }) => leads).length === 1, 'exactly one leads', withinMs);
  const leader = standing.find(({ leads }) => leads);
  assert.ok(leader !== undefined, 'it leads for longer than a moment');
  return leader;
}

/** The entries of the queue, in the order of joining. */
export async function queueOf(arena: Arena, { store }: Pick<TestMember, 'store'>): Promise<readonly Entry[]> {
  return store.list(CANDIDATES, { timeoutMs: arena.harness.timeoutMs });
}

/**
 * The members of the entries in the queue, in the order of joining. A member with two entries
 * appears twice.
 */
export async function idsInQueue(arena: Arena, candidate: Pick<TestMember, 'store'>): Promise<string> {
  return (await queueOf(arena, candidate)).map(({ name }) => name.slice(0, name.indexOf('~'))).join(' ');
}

/** The lease of a member. */
export async function leaseOf(arena: Arena, { store, member }: TestMember): Promise<LeaseId> {
  const entry = await store.read(`members/${member.memberId}`, { timeoutMs: arena.harness.timeoutMs });
  assert.ok(entry?.lease !== undefined, `${member.memberId} has a session`);
  return entry.lease;
}

/** The error that a client gets when the link fails during a call. */
export function lost(code: StoreErrorCode = 'CONNECTION_LOST'): StoreError {
  return new StoreError(code, 'unknown', 'planted: nobody knows what has become of it');
}
