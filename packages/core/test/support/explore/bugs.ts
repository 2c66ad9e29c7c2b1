/** Planted bugs in the transitions and swaps, and the case in which the explorer must find each. */

import type { CandidateState } from '../../../src/campaign/state.ts';
import { changeCandidate, readCandidate, readTerm } from '../../../src/protocol/record.ts';
import { byPriority, type Change, type Entry } from '../../../src/index.ts';
import type { Case } from './case.ts';
import { real, type Machine } from './machine.ts';
import { ANY } from './shelf.ts';

export interface Bug {
  readonly name: string;
  /** What the bug is. */
  readonly about: string;
  readonly machine: Machine;
  readonly found: Case;
}

/** The most states to explore. If the bug is not found by then, the case is too large. */
const MAX_STATES = 20_000;

/** Replaces a check that is left out: it always holds. */
const nothing: Change = { key: 'nothing', expect: null };

function bug(name: string, about: string, found: Case, wrong: Partial<Machine>): Bug {
  return { name, about, found: { maxStates: MAX_STATES, ...found }, machine: { ...real, ...wrong } };
}

/** True for a change that only checks. */
function untouched({ key, revision }: Entry): Change {
  return { key, expect: revision };
}

/** A claim without one of its checks, by its index. */
function claimWithout(place: number): Machine['claimChanges'] {
  return (...args) => real.claimChanges(...args).map((change, index) => (index === place ? nothing : change));
}

/** The transitions of a candidate, with their result changed. */
function then(
  wrong: (before: CandidateState, after: CandidateState, event: Parameters<Machine['campaign']>[1]) => CandidateState,
): Machine['campaign'] {
  return (state, event, rules) => wrong(state, real.campaign(state, event, rules), event);
}

const claims: readonly Bug[] = [
  bug(
    'noHolderCheck',
    "a claim does not check that the last holder's entry is gone",
    { candidates: 2, budget: { deleted: 1 }, succession: byPriority(0) },
    {
      claimChanges: claimWithout(3),
    },
  ),
  bug(
    'noEntryCheck',
    "a claim does not check that the claimant's entry is there",
    { candidates: 2, budget: { lost: 1, stopped: 1 } },
    {
      claimChanges: claimWithout(2),
    },
  ),
  bug(
    'noBarrier',
    'whoever gives a claim up leaves its entry',
    { candidates: 2, budget: { lost: 1, stopped: 1 } },
    {
      campaign: then((before, after, { type }) =>
        type === 'stop' && after.phase === 'withdrawing' && before.phase !== 'withdrawing' ? { phase: 'out', exit: after.exit } : after,
      ),
    },
  ),
  bug(
    'unknownIsNo',
    'a claim whose outcome is unknown counts as refused',
    { candidates: 2, budget: { lost: 1, stopped: 1 } },
    {
      campaign: (state, event, rules) => real.campaign(state, event.type === 'failed' ? { ...event, unknown: false } : event, rules),
    },
  ),
  bug(
    'unknownIsYes',
    'a claim whose outcome is unknown counts as applied',
    { candidates: 2, budget: { lost: 1 } },
    {
      campaign: (state, event, rules) => {
        if (state.phase !== 'claiming' || event.type !== 'failed') return real.campaign(state, event, rules);
        return { phase: 'elected', won: { term: state.claim.term, entry: state.entry, leaderRevision: '1', termRevision: '1' } };
      },
    },
  ),
  bug(
    'failedReadIsNo',
    'a claim of unknown outcome counts as refused, if it cannot be read back at once',
    { candidates: 2, budget: { lost: 1, failed: 1 } },
    {
      campaign: (state, event, rules) => {
        if (state.phase !== 'confirming' || event.type !== 'failed') return real.campaign(state, event, rules);
        return { phase: 'out', exit: { why: 'removed' } };
      },
    },
  ),
  bug(
    'noReadBack',
    'whoever withdraws does not read whether a claim was applied',
    { candidates: 2, budget: { lost: 1, stopped: 1 } },
    {
      campaign: then((before, after) =>
        before.phase === 'withdrawing' && after.phase === 'confirming' ? { phase: 'out', exit: before.exit } : after,
      ),
    },
  ),
  bug(
    'removedUnchecked',
    'a candidate whose entry was deleted does not read whether it was elected before',
    { candidates: 2, budget: { deleted: 1, handovers: 1 } },
    {
      campaign: then((before, after, { type }) =>
        type === 'removed' && before.phase !== 'confirming' && after.phase === 'confirming'
          ? { phase: 'out', exit: { why: 'removed' } }
          : after,
      ),
    },
  ),
  bug(
    'termStaysTheSame',
    'a claim takes the last term again',
    { candidates: 2 },
    {
      claimChanges: (keys, self, entry, claim, ...rest) =>
        real.claimChanges(keys, self, entry, claim.term > 1n ? { ...claim, term: claim.term - 1n } : claim, ...rest),
    },
  ),
  bug(
    'deafToWaking',
    'a candidate that is woken goes on waiting',
    { candidates: 2 },
    {
      campaign: (state, event, rules) => (state.phase === 'waiting' && event.type === 'woke' ? state : real.campaign(state, event, rules)),
    },
  ),
];

/** Claims on what a watch has shown, without a look at the queue. */
const known: readonly Bug[] = [
  bug(
    'claimsPastSuccessor',
    'whoever meets a newer term claims after that term, which may name a successor',
    { candidates: 3, budget: { handovers: 1 }, inOne: false },
    {
      campaign: (state, event, rules) => {
        const after = real.campaign(state, event, rules);
        if (state.phase !== 'claiming' || event.type !== 'notSwapped' || after.phase !== 'looking') return after;
        const termEntry = event.failed.find(({ index }) => index === 1)?.current;
        if (termEntry === undefined) return after;
        return { ...state, claim: { ...state.claim, termEntry, term: readTerm(termEntry).term + 1n, holder: undefined } };
      },
    },
  ),
];

/** Belief at the mark of a handover, without a look at the leader's record. */
const marks: readonly Bug[] = [
  bug(
    'earlierMark',
    'a mark of an earlier campaign is trusted',
    { candidates: 3, budget: { handovers: 1, deleted: 1 }, shares: true, led: true },
    {
      campaign: (state, event, rules) => {
        const isMark = state.phase === 'waiting' && event.type === 'entryChanged';
        return real.campaign(isMark ? { ...state, entry: { ...state.entry, key: event.entry.key } } : state, event, rules);
      },
    },
  ),
  bug(
    'twoStepMark',
    'a mark of a handover in two steps is trusted',
    { candidates: 2, budget: { handovers: 1 }, inOne: false },
    {
      campaign: then((before, after, event) => {
        if (before.phase !== 'waiting' || event.type !== 'entryChanged' || after.phase !== 'confirming') return after;
        const { handoverTerm: term = 0n } = readCandidate(event.entry);
        return { phase: 'elected', won: { term, entry: event.entry, leaderRevision: undefined, termRevision: event.entry.revision } };
      }),
    },
  ),
  bug(
    'derivedRevision',
    'the revision of the term is taken from the entry, where keys of a swap have revisions of their own',
    { candidates: 2, budget: { handovers: 1 } },
    { campaign: (state, event, rules) => real.campaign(state, event, { ...rules, revisionInSwap: (other) => other }) },
  ),
  bug(
    'anotherTerm',
    'the revision of a term is taken from a watch that shows another term',
    { candidates: 2, budget: { handovers: 1 } },
    {
      campaign: then((before, after, event) => {
        if (before.phase !== 'waiting' || event.type !== 'entryChanged' || after.phase !== 'confirming') return after;
        const { handoverTerm: term } = readCandidate(event.entry);
        const termRevision = event.termEntry?.revision;
        if (term === undefined || termRevision === undefined) return after;
        return { phase: 'elected', won: { term, entry: event.entry, leaderRevision: undefined, termRevision } };
      }),
    },
  ),
  bug(
    'changedMark',
    'a mark is trusted although an operator has changed the entry since',
    { candidates: 2, budget: { handovers: 1, requests: 1 }, shares: true, older: ['operator'] },
    {
      campaign: (state, event, rules) =>
        real.campaign(state, event.type === 'entryChanged' ? { ...event, entry: withoutRequest(event.entry) } : event, rules),
    },
  ),
];

/** The entry at its revision, as it was before the request of an older operator. */
function withoutRequest(entry: Entry): Entry {
  const { elected, handTo } = readCandidate(entry).raw;
  return handTo === undefined ? entry : { ...entry, value: changeCandidate(entry, { elected, handTo: undefined }) };
}

const ends: readonly Bug[] = [
  bug(
    'deletesAnyRecord',
    "a release deletes whatever record is there, another's too",
    { candidates: 2, budget: { lost: 1 } },
    {
      releaseChanges: (keys, entryKey, remains, ended) => {
        const right = real.releaseChanges(keys, entryKey, remains, ended);
        const { leader } = remains;
        if (leader === undefined || right.some(({ key }) => key === keys.leader)) return right;
        return [...right, { key: keys.leader, expect: leader.revision, delete: true }];
      },
    },
  ),
  bug(
    'noTermCheck',
    'a release does not check the term, where revisions restart',
    { candidates: 2, budget: { deleted: 1, lost: 1 }, inOne: false },
    { releaseChanges: (keys, ...rest) => real.releaseChanges(keys, ...rest).filter(({ key }) => key !== keys.term) },
  ),
  bug(
    'handoverUnknownIsNo',
    'a handover whose outcome is unknown counts as refused',
    { candidates: 2, budget: { handovers: 1, lost: 1 } },
    {
      release: (releaseState, event) => {
        const { phase } = releaseState;
        if (phase !== 'handingOver' || event.type !== 'failed') return real.release(releaseState, event);
        return { phase: 'released', handoverFailed: true, left: false };
      },
    },
  ),
  bug(
    'releaseOnce',
    'a release that fails is not tried again',
    { candidates: 2, budget: { lost: 1 } },
    {
      release: (releaseState, event) => {
        if (releaseState.phase !== 'releasing' || event.type !== 'failed') return real.release(releaseState, event);
        return { phase: 'released', handoverFailed: false, left: false };
      },
    },
  ),
  bug(
    'staleRelease',
    'a release that was refused is tried again on what was read before',
    { candidates: 3, budget: { handovers: 1, lost: 1 } },
    {
      release: (releaseState, event) =>
        releaseState.phase === 'releasing' && event.type === 'notSwapped' ? releaseState : real.release(releaseState, event),
    },
  ),
  bug(
    'noSuccessorFirst',
    'the others do not hold back for the successor of a handover',
    { candidates: 3, budget: { handovers: 1 }, inOne: false },
    {
      campaign: (state, event, rules) => {
        const after = real.campaign(state, event, rules);
        if (after.phase !== 'waiting' || after.wait.for !== 'successor') return after;
        return real.campaign(
          { phase: 'looking', entry: after.entry, unknownOutcome: after.unknownOutcome, passed: { successorOf: after.wait.term } },
          event,
          rules,
        );
      },
    },
  ),
  bug(
    'noMark',
    'a handover does not name its successor in the entry',
    { candidates: 2, budget: { handovers: 1, stopped: 1 } },
    {
      handoverInOne: (handover, lease) =>
        real
          .handoverInOne(handover, lease)
          .map((change) => (change.key === handover.successor.entry.key ? untouched(handover.successor.entry) : change)),
    },
  ),
  bug(
    'keepsEntry',
    'whoever hands over leaves its entry',
    { candidates: 2, budget: { handovers: 1 } },
    {
      handoverInOne: (handover, lease) => real.handoverInOne(handover, lease).filter(({ key }) => key !== handover.entry.key),
    },
  ),
];

/** A successor that the leader has found in advance. */
const successors: readonly Bug[] = [
  bug(
    'knownUnchecked',
    'a handover does not check the revision of the entry that was found in advance, whose member left and joined again',
    { candidates: 2, budget: { looks: 1, deleted: 1 }, led: true },
    {
      handoverInOne: (handover, lease) =>
        real
          .handoverInOne(handover, lease)
          .map((change) => (change.key === handover.successor.entry.key ? { ...change, expect: ANY } : change)),
    },
  ),
  bug(
    'knownUncheckedStopped',
    'a handover does not check the revision of the entry that was found in advance, whose candidate has stopped',
    { candidates: 3, budget: { looks: 1, stopped: 1 }, shares: true, led: true },
    {
      handoverInOne: (handover, lease) =>
        real
          .handoverInOne(handover, lease)
          .map((change) => (change.key === handover.successor.entry.key ? { ...change, expect: ANY } : change)),
    },
  ),
  bug(
    'knownRefusedIsOver',
    'a leader whose known successor has left counts its term as handed over',
    { candidates: 2, budget: { looks: 1, stopped: 1, lost: 1 }, led: true },
    {
      release: (releaseState, event) =>
        releaseState.phase === 'handingOver' && releaseState.early && event.type === 'notSwapped'
          ? { phase: 'released', handoverFailed: false, left: false }
          : real.release(releaseState, event),
    },
  ),
  bug(
    'knownAgain',
    'a leader whose known successor has left tries that one again, and does not look',
    { candidates: 2, budget: { looks: 1, stopped: 1, lost: 1 }, led: true },
    {
      release: (releaseState, event) =>
        releaseState.phase === 'handingOver' && releaseState.early && event.type === 'notSwapped'
          ? releaseState
          : real.release(releaseState, event),
    },
  ),
];

export const bugs: readonly Bug[] = [...claims, ...known, ...marks, ...successors, ...ends];
