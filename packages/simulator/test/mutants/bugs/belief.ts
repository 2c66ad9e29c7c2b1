/** What a leader may believe, and until when. */

import { mutant, type Mutant } from '../mutant.ts';

const DEADLINE = 'if (this.#clock.monotonic() < this.#monotonicDeadline && this.#clock.wall() < this.#wallDeadline) return true;';

export const belief: readonly Mutant[] = [
  mutant('noDeadline', 'belief has no deadline', 'core/src/session.ts', DEADLINE, 'return true;'),
  mutant(
    'onlyMonotonic',
    'the wall clock is not read',
    'core/src/session.ts',
    ' && this.#clock.wall() < this.#wallDeadline) return true',
    ') return true',
  ),
  mutant(
    'onlyWall',
    'the monotonic clock is not read',
    'core/src/session.ts',
    'if (this.#clock.monotonic() < this.#monotonicDeadline && this.#clock.wall()',
    'if (this.#clock.wall()',
  ),
  mutant(
    'noMargin',
    'clocks are taken to run at one rate',
    'core/src/timing.ts',
    'return Math.max(marginRatio(clockErrorRatio) * ttlMs, MIN_MARGIN_MS);',
    'return 0;',
  ),
  mutant(
    'deadlineFromReceipt',
    'the deadline counts from the answer, not from the sending',
    'core/src/session.ts',
    'this.#renewed(validFrom, ttlMs);',
    'this.#renewed(momentOf(this.#clock), ttlMs);',
  ),
  mutant(
    'noRecordWatch',
    'a leader does not see that its record was deleted',
    'core/src/leadership.ts',
    "if (news.entry === undefined) this.#finish('recordDeleted');",
    'if (news.entry === undefined) return;',
  ),
  mutant(
    'noEntryWatch',
    'a leader does not see that its entry was deleted',
    'core/src/leadership.ts',
    "if (news.entry === undefined) this.#finish('entryDeleted');",
    '',
  ),
  mutant(
    'wallAnchoredOnce',
    'the wall clock is not anchored anew',
    'core/src/session.ts',
    'this.#wallDeadline = validFrom.wallMs + forMs;',
    'if (this.#wallDeadline === 0) this.#wallDeadline = validFrom.wallMs + forMs;',
  ),
  mutant(
    'wallNeverBack',
    'the wall deadline stays where it was when the clock is set back',
    'core/src/session.ts',
    'this.#wallDeadline = validFrom.wallMs + forMs;',
    'this.#wallDeadline = Math.max(this.#wallDeadline, validFrom.wallMs + forMs);',
  ),
  mutant(
    'deadSession',
    'a session that has ended is used again',
    'core/src/sessions.ts',
    'if (this.#current?.isValid() === true) return this.#current;',
    'if (this.#current !== undefined) return this.#current;',
  ),
];
