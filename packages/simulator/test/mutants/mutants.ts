/** Bugs that somebody might make, one change of core's source each. Every one must be caught. */

export interface Mutant {
  readonly name: string;
  /** What the bug is. */
  readonly about: string;
  /** The file of core's sources, and the text in it, which is there once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

function mutant(name: string, about: string, file: string, from: string, to: string): Mutant {
  return { name, about, file, from, to };
}

const DEADLINE = 'if (this.#clock.monotonic() < this.#monotonicDeadline && this.#clock.wall() < this.#wallDeadline) return true;';

const belief: readonly Mutant[] = [
  mutant('noDeadline', 'belief has no deadline', 'session.ts', DEADLINE, 'return true;'),
  mutant(
    'onlyMonotonic',
    'the wall clock is not read',
    'session.ts',
    ' && this.#clock.wall() < this.#wallDeadline) return true',
    ') return true',
  ),
  mutant(
    'onlyWall',
    'the monotonic clock is not read',
    'session.ts',
    'if (this.#clock.monotonic() < this.#monotonicDeadline && this.#clock.wall()',
    'if (this.#clock.wall()',
  ),
  mutant(
    'noMargin',
    'clocks are taken to run at one rate',
    'timing.ts',
    'return Math.max(((2 * clockErrorRatio) / (1 + clockErrorRatio)) * ttlMs, MIN_MARGIN_MS);',
    'return 0;',
  ),
  mutant(
    'deadlineFromReceipt',
    'the deadline counts from the answer, not from the sending',
    'session.ts',
    'this.#renewed(validFrom, ttlMs);',
    'this.#renewed(momentOf(this.#clock), ttlMs);',
  ),
  mutant(
    'noRecordWatch',
    'a leader does not see that its record was deleted',
    'leadership.ts',
    "if (news.entry === undefined) this.#finish('recordDeleted');",
    'if (news.entry === undefined) return;',
  ),
];

const claims: readonly Mutant[] = [
  mutant(
    'noHolderCheck',
    "a claim does not check that the last holder's entry is gone",
    'swaps.ts',
    'if (holder !== undefined) changes.push({ key: holder, expect: null });',
    '',
  ),
  mutant(
    'noEntryCheck',
    "a claim does not check that the claimant's entry is there",
    'swaps.ts',
    '    { key: entry.key, expect: entry.revision },\n  ];\n  if (holder',
    '  ];\n  if (holder',
  ),
  mutant(
    'noBarrier',
    'a claim that is given up leaves its entry',
    'candidate.ts',
    "      return { phase: 'withdrawing', entry: state.entry, doubt: state.doubt, exit };\n    case 'claiming':\n      return { phase: 'withdrawing', entry: state.entry, doubt: state.doubt, exit };",
    "      return { phase: 'out', exit };\n    case 'claiming':\n      return { phase: 'out', exit };",
  ),
  mutant(
    'termStartsAgain',
    'the term is counted from the record, which goes',
    'candidate.ts',
    'const issued = term?.term ?? 0n;',
    'const issued = term?.ended === undefined ? (term?.term ?? 0n) : 0n;',
  ),
  mutant(
    'noPatience',
    'a wedged candidate is waited for for ever',
    'candidacy.ts',
    'return [this.#inPosition(entry, wait.position, signal, woken)];',
    'return [];',
  ),
  mutant(
    'deafWait',
    'a candidate does not hear that the one ahead has gone',
    'candidacy.ts',
    "if (state === undefined) woken.resolve({ type: 'woke' });\n    };\n    void follow(store.watch(wait.key",
    '};\n    void follow(store.watch(wait.key',
  ),
  mutant(
    'unknownIsNo',
    'an unknown outcome is taken for a refusal',
    'errors.ts',
    "    if (outcome === 'refused' || outcome === 'notSent') return outcome;\n  }\n  return 'unknown';",
    "    if (outcome === 'refused' || outcome === 'notSent') return outcome;\n  }\n  return 'refused';",
  ),
];

const ends: readonly Mutant[] = [
  mutant(
    'releaseFirst',
    'the keys go before the work is told',
    'leadership.ts',
    '    this.#abort.abort(this.#error(end));\n    this.#end.resolve(end);',
    "    const told = (): void => {\n      this.#abort.abort(this.#error(end));\n      this.#end.resolve(end);\n    };\n    void release({ ...this.#context, mark: this.#context.won.entry.key }, { phase: 'releasing', reason, remains: undefined, failedHeir: false }).then(told);",
  ),
  mutant(
    'deletesAnyRecord',
    "a release deletes whatever record is there, another's too",
    'swaps.ts',
    'const mine = isMarked(leader, mark) ? leader : undefined;',
    'const mine = leader;',
  ),
  mutant(
    'unguardedSwap',
    "a leader's write does not carry its term",
    'leadership.ts',
    'store.compareAndSwap([this.guard(), ...changes], call)',
    "store.compareAndSwap([{ key: 'nothing', expect: null }, ...changes], call)",
  ),
  mutant(
    'endlessDrain',
    'the drain does not end with the lease',
    'leadership.ts',
    'Math.min(this.#context.clock.monotonic() + this.#context.timing.drainMs, this.#session.safeUntil)',
    'this.#context.clock.monotonic() + this.#context.timing.drainMs * 30',
  ),
  mutant(
    'revokeBeforeDrain',
    'the lease is revoked while the work drains',
    'sessions.ts',
    '    await this.#context.drained(session);\n    const backoff',
    '    const backoff',
  ),
  mutant(
    'noRevoke',
    'closing a member leaves its lease to expire',
    'sessions.ts',
    '      await this.#tryRevoke(session);\n    }\n    await Promise.all',
    '    }\n    await Promise.all',
  ),
];

const others: readonly Mutant[] = [
  mutant(
    'leakedWatch',
    'a watch that nobody wants goes on',
    'waits.ts',
    '    this.#listener = undefined;\n    this.#ended.abort();',
    '    this.#listener = undefined;',
  ),
  mutant('leakedHold', 'a leadership that has ended keeps the process alive', 'leadership.ts', '    this.#letGo();\n', ''),
  mutant(
    'observerGoesBack',
    'an observer shows whatever the watch repeats',
    'observer.ts',
    'if (view.term >= this.#highest) return view;',
    'return view;',
  ),
  mutant('observerBluffs', 'an observer does not say when it cannot know', 'observer.ts', 'onStale: (cause) => this.#lose(cause)', ''),
];

export const mutants: readonly Mutant[] = [...belief, ...claims, ...ends, ...others];
