/** Bugs in how long a leader is valid. */

import { mutant, type Mutant } from '../mutant.ts';

const DEADLINE = 'if (this.#deadline.remainingMs() > 0 || this.#extendByRenewer()) return true;';
const BOTH_CLOCKS = 'return Math.min(this.remainingMonotonicMs(), this.#wallMs - this.#clock.wall());';

export const validity: readonly Mutant[] = [
  mutant('noDeadline', 'validity has no deadline', 'core/src/lease/session.ts', DEADLINE, 'return true;'),
  mutant('onlyMonotonic', 'the wall clock is not read', 'core/src/lease/deadline.ts', BOTH_CLOCKS, 'return this.remainingMonotonicMs();'),
  mutant(
    'onlyWall',
    'the monotonic clock is not read',
    'core/src/lease/deadline.ts',
    BOTH_CLOCKS,
    'return this.#wallMs - this.#clock.wall();',
  ),
  mutant(
    'noMargin',
    'clocks are taken to run at one rate',
    'core/src/lease/timing.ts',
    'return Math.max(marginRatio(clockErrorRatio) * ttlMs, MIN_MARGIN_MS);',
    'return 0;',
  ),
  mutant(
    'deadlineFromReceipt',
    'the deadline counts from the answer, not from the sending',
    'core/src/lease/session.ts',
    'this.#renewed(validFrom, ttlMs, at);',
    'this.#renewed(this.#deadline.readClocks(), ttlMs, at);',
  ),
  mutant(
    'keptFromLook',
    'a renewal by the renewer counts from the moment at which the session reads it, not from its sending',
    'core/src/lease/session.ts',
    'this.#extendFrom(renewal.validFrom, renewal.ttlMs);',
    'this.#extendFrom(momentOf(this.#clock), renewal.ttlMs);',
  ),
  mutant(
    'noRecordWatch',
    'a leader does not see that its record was deleted',
    'core/src/leadership/leader-record.ts',
    "if (record === undefined) this.#onNews({ type: 'over', reason: 'recordDeleted' });",
    'if (record === undefined) return;',
  ),
  mutant(
    'noEntryWatch',
    'a leader does not see that its entry was deleted',
    'core/src/leadership/leader-record.ts',
    "if (entry === undefined) this.#onNews({ type: 'over', reason: 'entryDeleted' });",
    'if (entry === undefined) return;',
  ),
  mutant(
    'wallAnchoredOnce',
    'the wall clock is not anchored anew',
    'core/src/lease/deadline.ts',
    'this.#wallMs = from.wallMs + forMs;',
    'if (this.#wallMs === 0) this.#wallMs = from.wallMs + forMs;',
  ),
  mutant(
    'setBackForgiven',
    'the deadline stays where it is when the wall clock is set back, and a sleep is not noticed',
    'core/src/lease/deadline.ts',
    'this.#wallMs -= before - wallAheadMs;',
    '',
  ),
  mutant(
    'deadSession',
    'a session that has ended is used again',
    'core/src/lease/session-keeper.ts',
    'if (this.#current?.isValid() === true) return this.#current;',
    'if (this.#current !== undefined) return this.#current;',
  ),
  mutant(
    'remainingAfterEnd',
    'a leadership that was given up tells how long its session lasts',
    'core/src/leadership/leadership.ts',
    "return this.#releaseState.phase === 'leading' ? this.#session.remainingMs() : 0;",
    'return this.#session.remainingMs();',
  ),
];
