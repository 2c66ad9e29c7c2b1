/** To whom a leader may hand over. */

import { IncumbentError } from '../base/errors.ts';
import { readCandidate, tryRead } from './record.ts';
import type { Entry, Key } from '../store/contract.ts';
import { inSuccession, readName, type Succession } from './succession.ts';
import type { Heir } from '../leadership/release-machine.ts';

/** The one of this id, or the next in succession. One whose entry this version cannot read could not be told, nor its value published. */
export function heirAmong(queue: readonly Entry[], leader: Key, succession: Succession, memberId?: string): Heir | undefined {
  const waiting = inSuccession(othersIn(queue, leader), succession);
  const heirs = waiting.filter(({ entry }) => tryRead(readCandidate, entry) !== undefined);
  const heir = memberId === undefined ? heirs[0] : heirs.find((candidate) => candidate.memberId === memberId);
  return heir && { entry: heir.entry, memberId: heir.memberId, incarnation: heir.incarnation, first: heir === waiting[0] };
}

export function noHeir(election: string, queue: readonly Entry[], leader: Key, memberId: string | undefined): IncumbentError {
  const why = memberId === undefined ? 'there is no other candidate' : `"${memberId}" is not a candidate`;
  return new IncumbentError('NO_SUCH_CANDIDATE', `leadership of "${election}" cannot be handed over: ${why}`, {
    details: { memberId, candidates: othersIn(queue, leader).map(({ name }) => readName(name)?.memberId) },
  });
}

function othersIn(queue: readonly Entry[], leader: Key): readonly Entry[] {
  return queue.filter(({ key }) => key !== leader);
}
