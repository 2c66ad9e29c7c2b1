/** Judges a history: the promises that it breaks, and figures of what happened in it. */

import { headerOf, only, type ChaosEvent } from '../history.ts';
import { oneValidLeader, overlapsOf } from './two-leaders.ts';
import { announcedInPairs, oneEndEach } from './ends.ts';
import { recoveriesOf, somebodyLeads } from './liveness.ts';
import { calmIsCalm, earlyEndsOf, leasesLast } from './losses.ts';
import { faultsAreRepaired, membersStay, nothingIsLeft } from './members.ts';
import { observersAgree, observersNeverGoBack } from './observers.ts';
import type { Rule, Violation } from './rule.ts';
import { somebodyLeadsBesideTheSick, spellsOf } from './sick.ts';
import { termsRise } from './terms.ts';
import { fenceHolds, guardHolds, writesStay } from './writes.ts';

const rules: readonly Rule[] = [
  oneValidLeader,
  termsRise,
  oneEndEach,
  announcedInPairs,
  fenceHolds,
  guardHolds,
  writesStay,
  leasesLast,
  calmIsCalm,
  somebodyLeads,
  somebodyLeadsBesideTheSick,
  observersNeverGoBack,
  observersAgree,
  membersStay,
  faultsAreRepaired,
  nothingIsLeft,
];

export interface Verdict {
  readonly violations: readonly Violation[];
  /**
   * Events that should have happened and did not. A run without events does not count as passed.
   */
  readonly missing: readonly string[];
  readonly figures: RunFigures;
}

/** A type and not an interface, because the evidence accepts any record of numbers. */
type RunFigures = {
  readonly minutes: number;
  /** Faults that had an effect. */
  readonly faults: number;
  /** Leaderships that were reported. */
  readonly terms: number;
  /** Leaderships that followed a lost one, or one whose process died. */
  readonly failovers: number;
  readonly writes: number;
  /** Stale writes that the fence rejected. */
  readonly refusedByFence: number;
  /** Stale writes that the resource without a fence accepted. */
  readonly staleAtTwin: number;
  /** Guarded writes that the store rejected. */
  readonly refusedByStore: number;
  /** Leases that the store ended before the time that it had guaranteed. */
  readonly earlyEnds: number;
  /**
   * Leaderships that were valid after a newer one had begun, because the store had ended their
   * lease early.
   */
  readonly overlapsExcused: number;
  readonly longestOverlapMs: number;
  /** The longest time without a leader after all faults were healed, in ms. */
  readonly longestVacancyMs: number;
  /**
   * The longest time without a leader while one server was faulty or watches were silent, and
   * nothing else failed, in ms.
   */
  readonly longestSickVacancyMs: number;
  readonly violations: number;
};

export function judge(history: readonly ChaosEvent[]): Verdict {
  const header = headerOf(history);
  const sorted = history.toSorted((a, b) => a.at - b.at);
  const violations = rules.flatMap((rule) => rule(sorted, header)).toSorted((a, b) => a.at - b.at);
  const figures = figuresOf(sorted, violations.length);
  return { violations, missing: missingOf(sorted, figures), figures };
}

function figuresOf(history: readonly ChaosEvent[], violations: number): RunFigures {
  const { ttlMs, servers } = headerOf(history);
  const writes = only(history, 'wrote');
  const excused = overlapsOf(history).filter((overlap) => overlap.excused);
  return {
    minutes: Math.round((history.at(-1)?.at ?? 0) / 6_000) / 10,
    faults: only(history, 'fault').filter(({ what }) => what === 'hit').length,
    terms: only(history, 'elected').length,
    failovers: failoversOf(history),
    writes: writes.filter(({ to, accepted }) => to === 'fenced' && accepted).length,
    refusedByFence: writes.filter(({ to, accepted }) => to === 'fenced' && !accepted).length,
    staleAtTwin: writes.filter(({ to, accepted, term, highest }) => to === 'unguarded' && accepted && term < highest).length,
    refusedByStore: only(history, 'swapped').filter(({ outcome }) => outcome === 'refused').length,
    earlyEnds: earlyEndsOf(history, ttlMs).length,
    overlapsExcused: excused.length,
    longestOverlapMs: Math.max(0, ...excused.map(({ ms }) => ms)),
    longestVacancyMs: Math.round(Math.max(0, ...recoveriesOf(history).map(({ tookMs }) => tookMs))),
    longestSickVacancyMs: Math.round(Math.max(0, ...spellsOf(history, servers.length).map(({ vacantMs }) => vacantMs))),
    violations,
  };
}

function failoversOf(history: readonly ChaosEvent[]): number {
  const ended = only(history, 'ended');
  const elected = only(history, 'elected');
  return elected.slice(1).filter((_, index) => {
    const before = elected[index];
    const end = ended.find(({ who, term }) => who === before?.who && term === before.term);
    return end === undefined || end.lost;
  }).length;
}

/** An event that was possible this many times must have happened once. */
const OFTEN = 3;
/** From this many minutes on, every event must have happened. */
const LONG_MINUTES = 10;

function missingOf(history: readonly ChaosEvent[], figures: RunFigures): readonly string[] {
  const faults = only(history, 'fault');
  const hit = new Set(faults.flatMap(({ fault, what }) => (what === 'hit' ? [fault] : [])));
  const begun = Map.groupBy(
    faults.filter(({ what }) => what === 'begins'),
    ({ fault }) => fault,
  );
  const never = [...begun].flatMap(([fault, { length }]) => (hit.has(fault) || length < OFTEN ? [] : [`${fault} never hit, of ${length}`]));
  const wanted = [
    ['terms', 2],
    ['failovers', 1],
    ['writes', 1],
    ...(figures.minutes >= LONG_MINUTES
      ? ([
          ['refusedByFence', 1],
          ['staleAtTwin', 1],
          ['refusedByStore', 1],
        ] as const)
      : []),
  ] as const;
  const few = wanted.flatMap(([name, least]) => (figures[name] >= least ? [] : [`${name}: ${figures[name]}, and not ${least}`]));
  const jumps = faults.filter(({ fault, what }) => fault === 'wallJump' && what === 'hit').length;
  const clock = jumps >= OFTEN && only(history, 'jumped').length === 0 ? [`no wall clock was seen to jump, of ${jumps} that were set`] : [];
  const calm = only(history, 'answered').length === 0 ? ['nobody was asked who leads'] : [];
  return [...never, ...few, ...clock, ...calm];
}
