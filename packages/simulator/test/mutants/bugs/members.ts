/** Bugs in a member's registration and groups, and in what it restores and leaves behind. */

import { mutant, type Mutant } from '../mutant.ts';

export const members: readonly Mutant[] = [
  mutant(
    'deafToReplacement',
    'a member does not hear that its id was taken',
    'core/src/lease/member-key.ts',
    "if (current !== undefined && !isMine(context, current)) session.end('replaced');",
    '',
  ),
  mutant(
    'laysTheLiving',
    'the search for orphanCleaner removes entries in use',
    'core/src/member/orphan-cleaner.ts',
    'entryKeys.filter((entryKey) => !this.#isUsed(entryKey))',
    'entryKeys',
  ),
  mutant(
    'groupNotAgain',
    'a member whose group key went does not join again',
    'core/src/member/group.ts',
    'own?.lease === session.lease ? undefined : over.resolve(),',
    'undefined,',
  ),
  mutant(
    'groupSessionLost',
    'a member that lost its session stays away from its groups',
    'core/src/member/group.ts',
    'put = this.#untilBack(leaving)',
    'put = orAborted(new Promise(() => {}), leaving)',
  ),
  mutant(
    'groupLeaveForgets',
    'leaving a group leaves the key',
    'core/src/member/group.ts',
    'if (session !== undefined) await this.#untilDeleted(session);',
    '',
  ),
  mutant(
    'groupFirstView',
    'group views show the first state only',
    'core/src/observer/group-reader.ts',
    'this.#views.set(this.#readable(entries));',
    'if (this.#views.value === undefined) this.#views.set(this.#readable(entries));',
  ),
  mutant(
    'keyNotRestored',
    "a member's key that was deleted is not put back",
    'core/src/lease/member-key.ts',
    'while (session.ended === undefined) {',
    'while (session.ended === undefined && put.length === 0) {',
  ),
  mutant(
    'leakedRenewal',
    'a session that could not be registered goes on renewing',
    'core/src/lease/session.ts',
    "    session.end('memberClosed');\n",
    '',
  ),
  mutant(
    'rebalanceNever',
    'leadership is never brought back',
    'core/src/leadership/successor-finder.ts',
    'return first?.entry.key === key ? undefined : first?.memberId;',
    'return undefined;',
  ),
  mutant(
    'rebalanceOnce',
    'a leadership is looked at once, and never brought back later',
    'core/src/member/rebalancer.ts',
    'if (this.#led.length > 0) this.#schedule();',
    '',
  ),
  mutant(
    'leakedTimer',
    'the timer of the rebalancer outlives the member',
    'core/src/member/rebalancer.ts',
    '    this.#led = [];\n    this.#cancel?.();',
    '    this.#led = [];',
  ),
  mutant('leakedLane', 'a call never returns its place in the semaphore', 'core/src/async/semaphore.ts', 'this.#free += calls;', ''),
];
