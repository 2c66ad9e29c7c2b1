/** Watches, observers, and what is left behind. */

import { mutant, type Mutant } from '../mutant.ts';

export const watches: readonly Mutant[] = [
  mutant('leakedWatch', 'a watch that nobody wants goes on', 'core/src/leadership.ts', '    endQuietly(this.#watching);\n', ''),
  mutant('leakedHold', 'a leadership that has ended keeps the process alive', 'core/src/leadership.ts', '    this.#letGo();\n', ''),
  mutant(
    'observerGoesBack',
    'an observer shows whatever the watch repeats',
    'core/src/sight.ts',
    'if (sight.term > this.#highest || (sight.term === this.#highest && !this.#isOver)) return sight;',
    'return sight;',
  ),
  mutant(
    'observerRevives',
    'an observer shows a term as led again after its end, where the watch tells so late',
    'core/src/sight.ts',
    '(sight.term === this.#highest && !this.#isOver)',
    'sight.term === this.#highest',
  ),
  mutant(
    'observerTrustsSilence',
    'an observer does not look for itself while its watch is silent',
    'core/src/lookout.ts',
    'void this.#lookAgain({ isCheck: true });',
    '',
  ),
  mutant(
    'candidateTrustsSilence',
    'a candidate that waits does not look for itself',
    'core/src/turn.ts',
    'this.#cancelCheck = clock.schedule(ttls * timing.ttlMs, () => void this.#check());',
    'void [clock, ttls, timing, () => void this.#check()];',
  ),
  mutant(
    'observerBluffs',
    'an observer does not say when it cannot know',
    'core/src/lookout.ts',
    '(over.signal.aborted ? undefined : this.#lose(cause)) };',
    'this.#look.abort(cause) };',
  ),
  mutant(
    'keyWatchOnce',
    'the watch of a key is not begun again',
    'core/src/key-watch.ts',
    "if (!isIncumbentError(cause, 'STORE_CLOSED')) this.#beginLater();",
    '',
  ),
  mutant(
    'groupWatchOnce',
    'the watch of a group is not begun again',
    'core/src/group.ts',
    'while (!signal.aborted && !this.#views.ended) {',
    'for (let i = 0; i < 1; i += 1) {',
  ),
  mutant(
    'observerOnce',
    'the watch of an observer is not begun again',
    'core/src/lookout.ts',
    '    while (!signal.aborted) {\n      const rest',
    '    for (let i = 0; i < 1; i += 1) {\n      const rest',
  ),
  mutant(
    'observerInherits',
    'whoever comes to observe is told what is known already, however old',
    'core/src/lookout.ts',
    '      void this.#lookAgain();\n    }\n    return',
    '      if (this.#lost === undefined && this.#seen !== undefined && this.#newcomers.delete(witness)) witness.saw(this.#seen);\n    }\n    return',
  ),
  mutant(
    'observerOutrun',
    'a watch that a read has left behind goes on',
    'core/src/lookout.ts',
    '        if (!isSameSight(sight, seen) || !saysTheSame(latest.entry, sight)) return this.#renew();\n',
    '',
  ),
  mutant(
    'observerLeaves',
    'the watch of an election goes on when the last observer has closed',
    'core/src/lookout.ts',
    '    this.#closed.abort();\n    await this.#watching;',
    '',
  ),
  mutant(
    'feedOnce',
    'a watch that broke off is not begun again',
    'simulator/src/store/feed.ts',
    '    this.#again(random.between(RETRY_MS.min, RETRY_MS.max), retry);\n    this.#watch.lose(',
    '    this.#watch.lose(',
  ),
  mutant(
    'feedBlind',
    'a watch that is begun again does not read what it missed',
    'simulator/src/store/feed.ts',
    '    sender.now();\n  }',
    '  }',
  ),
];
