/** Chooses the candidate that a leader hands over to. */

import { IncumbentError } from '../base/errors.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { inSuccession, noSuccessor, type Succession, type Successor, successorAmong } from '../protocol/succession.ts';
import type { PayloadCodec } from '../protocol/value-codec.ts';
import type { Entry, Key, ListOptions } from '../store/contract.ts';

/** @internal The facts about an election that all leaderships of a member share. */
export interface ElectionSpec<V> {
  readonly election: string;
  readonly keys: ElectionKeys;
  readonly succession: Succession;
  readonly codec: PayloadCodec<V>;
}

/** The queue of an election, read on behalf of its leader. */
export interface LeaderQueue {
  readonly election: string;
  readonly succession: Succession;
  /** The leader's own entry. */
  readonly leader: Key;
  /** A linearizable read: all entries, or the first ones. */
  readonly list: (part?: Pick<ListOptions, 'first'>) => Promise<readonly Entry[]>;
}

/**
 * Returns the candidate with this member id, or the next in succession if no id is given. Throws
 * `NO_SUCH_CANDIDATE` if there is none.
 */
export async function findSuccessor({ election, succession, leader, list }: LeaderQueue, memberId: string | undefined): Promise<Successor> {
  if (memberId === undefined && succession.byArrival) {
    // The first two entries are enough: one of them may be the leader's own.
    const successor = successorAmong(await list({ first: 2 }), leader, succession);
    if (successor !== undefined) return successor;
  }
  const queue = await list();
  const successor = successorAmong(queue, leader, succession, memberId);
  if (successor !== undefined) return successor;
  throw noSuccessor(election, queue, leader, memberId);
}

/**
 * Returns the member id of the first candidate if it goes before this leader in the order of
 * succession.
 */
export async function preferredCandidate({ succession, leader, list }: LeaderQueue): Promise<string | undefined> {
  const [first] = inSuccession(await list(), succession);
  return first === undefined || first.entry.key === leader ? undefined : first.memberId;
}

/** The error of a handover that the store refused. */
export function handoverError({ memberId, incarnation }: Successor): IncumbentError {
  return new IncumbentError('HANDOVER_FAILED', `the store did not take the handover to "${memberId}"`, {
    details: { memberId, incarnation },
  });
}
