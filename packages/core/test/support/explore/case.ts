/** The cases: the number of candidates, and what may happen to them. */

import { firstComeFirstServed, type Succession } from '../../../src/index.ts';
import type { CandidateRules } from '../../../src/campaign/state.ts';
import { keys } from '../candidates.ts';
import { real, type Machine } from './machine.ts';
import type { Budget, Model } from './model.ts';
import { newcomer, type Setting } from './person.ts';
import { explore, type Found } from './search.ts';
import { Shelf } from './shelf.ts';
import { Rules } from './world.ts';

export interface Case {
  readonly candidates: number;
  readonly budget?: Partial<Budget>;
  readonly succession?: Succession;
  /** True: a handover is one swap, and revisions survive deletion. False: neither. */
  readonly inOne?: boolean;
  /** True: all keys of a swap get the same revision. */
  readonly shares?: boolean;
  /** True: an enqueue also reads the queue and the term. */
  readonly looks?: boolean;
  /** The members with an older version, and `operator` if that one has an older version. */
  readonly older?: readonly string[];
  /** True: at the beginning the first candidate leads, and the others are in the queue. */
  readonly led?: boolean;
  /** The most states to explore. Breadth first, so everything up to some depth is covered. */
  readonly maxStates?: number;
}

const calm: Budget = { lost: 0, failed: 0, deleted: 0, stopped: 0, handovers: 0, timeouts: 0, expired: 0, requests: 0, looks: 0 };

/** Throws {@link Broken} if an invariant does not hold. */
export function search(
  {
    candidates,
    budget = {},
    succession = firstComeFirstServed(),
    inOne = true,
    shares = false,
    looks = false,
    older = [],
    led = false,
    maxStates = 100_000,
  }: Case,
  machine: Machine = real,
): Found {
  const rules: CandidateRules = { keys, succession, termFloor: 0n, seenTerm: 0n, ...(shares ? { revisionInSwap: (other) => other } : {}) };
  const setting: Setting = { machine, rules, rankOf: (id) => (succession.byArrival ? '' : id), inOne, looks, older };
  const people = Array.from({ length: candidates }, (_, i) => newcomer(String(i + 1)));
  const begin = {
    shelf: new Shelf(inOne, shares),
    people,
    late: [],
    budget: { ...calm, ...budget },
    elected: 0n,
    terms: [{ termEntry: undefined }],
    marks: [],
  };
  const all = new Rules(setting, begin.budget);
  return explore(all, led ? answered(all, begin) : begin, maxStates);
}

/** Answers all calls, those of the first candidate first. */
function answered(rules: Rules, model: Model): Model {
  const call = rules.moves(model).find(([what]) => /^\d (?:enqueue|list|lookTerm|swap)$/.test(what));
  return call === undefined ? model : answered(rules, call[1]);
}
