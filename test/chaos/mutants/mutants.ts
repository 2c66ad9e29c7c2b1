/** Plausible bugs, and the faults under which a run finds each. */

import type { PlantedBug } from '@incumbent/test-support/planted-bug';

import type { StoreName } from '../site/site.ts';

export interface Mutant extends PlantedBug {
  readonly store: StoreName;
  /** The kinds of faults under which a run finds the bug. */
  readonly only: readonly string[];
}

export const mutants: readonly Mutant[] = [
  {
    name: 'believesLonger',
    about: 'a leader is valid for 2 s past its deadline, while servers are paused',
    file: 'core/src/lease/deadline.ts',
    from: 'return Math.min(this.remainingMonotonicMs(), this.#wallMs - this.#clock.wall());',
    to: 'return 2_000 + Math.min(this.remainingMonotonicMs(), this.#wallMs - this.#clock.wall());',
    store: 'etcd',
    only: ['pauseServer', 'cut', 'crash'],
  },
  {
    name: 'readsNoClock',
    about: '`isValid()` reads no clock',
    file: 'core/src/lease/session.ts',
    from: 'if (this.#deadline.remainingMs() > 0 || this.#extendByRenewer()) return true;',
    to: 'if (this.#deadline.remainingMs() > -Infinity) return true;',
    store: 'redis',
    only: ['pause', 'cut'],
  },
  {
    name: 'admitsAll',
    about: 'a fence admits every term',
    file: 'core/src/leadership/fence.ts',
    from: 'if (term < this.#highest) {',
    to: 'if (term < 0n) {',
    store: 'redis',
    only: ['crash', 'pause', 'block'],
  },
  {
    name: 'guardsNothing',
    about: 'a guard checks nothing',
    file: 'core/src/leadership/leader-record.ts',
    from: 'const guard: Change = { key: this.#keys.term, expect: this.#termRevision };',
    to: 'const guard: Change = { key: `${this.#keys.term}-of-nobody`, expect: null };',
    store: 'redis',
    only: ['crash', 'pause', 'block'],
  },
  {
    name: 'trustsSilence',
    about: 'a candidate that waits does not read for itself while its watches are silent',
    file: 'core/src/campaign/wait.ts',
    from: 'this.#cancelCheck = clock.schedule(ttls * timing.ttlMs, () => void this.#check());',
    to: 'void [clock, ttls, timing, () => void this.#check()];',
    store: 'redis',
    only: ['silenceWatches', 'leave'],
  },
];
