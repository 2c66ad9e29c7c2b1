/** The cases: the number of candidates, and what may happen to them. */

import { firstComeFirstServed, type Succession } from '../../../src/index.ts';
import { keys } from '../candidates.ts';
import { real, type Machine } from './machine.ts';
import { newcomer, type Setting } from './person.ts';
import { explore, type Found } from './search.ts';
import { Shelf } from './shelf.ts';
import { Rules, type Budget } from './world.ts';

export interface Case {
  readonly candidates: number;
  readonly budget?: Partial<Budget>;
  readonly succession?: Succession;
  /** True: a handover is one swap, and revisions survive deletion. False: neither. */
  readonly inOne?: boolean;
  /** The most states to explore. Breadth first, so everything up to some depth is covered. */
  readonly maxStates?: number;
}

const calm: Budget = { lost: 0, deleted: 0, stopped: 0, handovers: 0, timeouts: 0, expired: 0, requests: 0 };

/** Throws {@link Broken} if an invariant does not hold. */
export function search(
  { candidates, budget = {}, succession = firstComeFirstServed(), inOne = true, maxStates = 100_000 }: Case,
  machine: Machine = real,
): Found {
  const rules = { keys, succession, termFloor: 0n };
  const setting: Setting = { machine, rules, rankOf: (id) => (succession.byArrival ? '' : id), inOne };
  const people = Array.from({ length: candidates }, (_, i) => newcomer(String(i + 1)));
  const begin = {
    shelf: new Shelf(inOne),
    people,
    late: [],
    budget: { ...calm, ...budget },
    elected: 0n,
    terms: [{ term: undefined }],
    marks: [],
  };
  return explore(new Rules(setting, begin.budget), begin, maxStates);
}
