/**
 * One campaign, from joining the queue to being elected or out of it, as pure transitions:
 * `transition(state, event, rules)`. A state says which call to make. The driver (`runner.ts`)
 * makes the call and reports one event. Nothing here waits or reads a clock, so a test can
 * enumerate every interleaving.
 *
 * Only the claim decides who leads. The claim is one swap: `leader` absent → this candidate's
 * record; `term` n → n+1; the last holder's entry absent; its own entry present. The queue only
 * schedules claims: a stale view of the queue costs a retry, never a second leader. (The queue, in
 * which each candidate watches the one ahead, is ZooKeeper's recipe for leader election. Swapping
 * the term in the same step is Kafka's controller epoch, KAFKA-6082.)
 */

import type { CandidateEvent, CandidateRules, CandidateState, Exit, LookedAround, Passed } from './state.ts';
import { holderOf, type PreviousRecord, previousOf, readCandidate, readLeader, readTerm } from '../protocol/record.ts';
import type { Entry, Key, Revision } from '../store/contract.ts';
import { checkSuccession, inSuccession, type QueueEntry, type Succession } from '../protocol/succession.ts';
import { isEndedTermOf, isTermOf, lastIssued, wonAtMark } from '../protocol/transactions.ts';
import { highestTerm, termAfter } from '../protocol/terms.ts';

/** The state in which a campaign starts. */
export const initialState: CandidateState = { phase: 'joining', unknownOutcome: false };

/**
 * How many candidates behind the next in line watch for a vacancy, so that they notice a candidate
 * that never claims. A claim passes over this many candidates at most.
 */
export const WATCH_WINDOW = 8;

/**
 * Returns the state after an event. Events that do not belong to the state leave it unchanged.
 * Throws `FOREIGN_DATA` or `NEWER_FORMAT` for a record that it cannot read.
 */
export function transition(state: CandidateState, event: CandidateEvent, rules: CandidateRules): CandidateState {
  if (state.phase === 'elected' || state.phase === 'out') return state;
  if (event.type === 'stop') return leave(state, { why: 'stopped' });
  if (event.type === 'fatal') return fail(state, event.error);
  if (event.type === 'removed') return removed(state);
  switch (state.phase) {
    case 'joining':
      return joining(state, event);
    case 'looking':
      return looking(state, event, rules);
    case 'waiting':
      return waiting(state, event, rules);
    case 'claiming':
      return claiming(state, event, rules);
    case 'confirming':
      return confirming(state, event, rules);
    case 'withdrawing':
      return withdrawing(state, event);
    case 'pausing':
      return event.type === 'paused' ? state.then : state;
    default:
      return state satisfies never;
  }
}

type In<P extends CandidateState['phase']> = Extract<CandidateState, { phase: P }>;
type WaitingEntry = Pick<In<'waiting'>, 'entry' | 'unknownOutcome'>;

function pause(then: CandidateState): CandidateState {
  return { phase: 'pausing', then };
}

function joining(state: In<'joining'>, event: CandidateEvent): CandidateState {
  if (event.type === 'enqueued') return { phase: 'looking', entry: event.entry, unknownOutcome: state.unknownOutcome };
  if (event.type === 'failed') return pause({ phase: 'joining', unknownOutcome: state.unknownOutcome || event.unknown });
  return state;
}

function looking(state: In<'looking'>, event: CandidateEvent, rules: CandidateRules): CandidateState {
  if (event.type === 'failed') return pause(state);
  if (event.type !== 'looked') return state;
  const { termEntry } = event;
  const lastTerm = termEntry && readTerm(termEntry);
  if (lastTerm?.entry === state.entry.key) return { phase: 'confirming', entry: state.entry, termEntry };
  if (event.queue !== undefined) return decide(state, { ...event, queue: event.queue }, rules);
  if (lastTerm?.nobodyAhead === true && lastTerm.entry === state.goneAhead) return decide(state, { ...event, queue: [] }, rules);
  return { phase: 'looking', entry: state.entry, unknownOutcome: state.unknownOutcome };
}

/** Decides whether to claim, or whom to wait for. */
function decide(state: In<'looking'>, seen: LookedAround, rules: CandidateRules): CandidateState {
  const lastTerm = seen.termEntry && readTerm(seen.termEntry);
  const { entry, unknownOutcome, passed } = state;
  checkSuccession(seen.queue, entry, rules.succession);
  const successor = lastTerm?.ended?.successor;
  // A handover changes its successor's entry. A claim at the revision before that would be refused.
  if (successor === entry.key) return claim({ ...state, entry: seen.ownEntry ?? entry }, seen.termEntry, rules);
  if (lastTerm !== undefined && successor !== undefined && !isPassed(passed, lastTerm.term)) {
    return { phase: 'waiting', entry, unknownOutcome, wait: { for: 'successor', key: successor, term: lastTerm.term } };
  }
  const holderKey = holderOf(lastTerm);
  const ahead = candidatesAhead(seen.queue, entry, holderKey, rules.succession);
  const last = ahead.at(-1);
  if (last !== undefined && passed !== 'queue') {
    const wait = { for: 'ahead', key: last.entry.key, position: ahead.length, isNextInLine: rules.succession.byArrival } as const;
    return { phase: 'waiting', entry, unknownOutcome, wait };
  }
  const holder = seen.queue.find(({ key }) => key === holderKey);
  if (holder !== undefined) {
    const isNextInLine = rules.succession.byArrival && ahead.length === 0 && holder.order < entry.order;
    return { phase: 'waiting', entry, unknownOutcome, wait: { for: 'ahead', key: holder.key, position: 0, isNextInLine } };
  }
  return claim(state, seen.termEntry, rules, ahead);
}

function isPassed(passed: Passed | undefined, term: bigint): boolean {
  return passed === 'queue' || passed?.successorOf === term;
}

/** The candidates ahead of this one. The leader is not among them: it has no claim to make. */
function candidatesAhead(queue: readonly Entry[], own: Entry, holder: Key | undefined, succession: Succession): readonly QueueEntry[] {
  const others = queue.filter(({ key }) => key !== holder && key !== own.key);
  const order = inSuccession([...others, own], succession);
  return order.slice(
    0,
    order.findIndex((candidate) => candidate.entry.key === own.key),
  );
}

function claim(
  state: In<'looking'> | In<'confirming'>,
  termEntry: Entry | undefined,
  rules: CandidateRules,
  ahead?: readonly QueueEntry[],
): CandidateState {
  const lastTerm = termEntry && readTerm(termEntry);
  const beforeFirst = rules.termsFromClock === true && lastTerm === undefined ? state.entry.order : 0n;
  const issued = highestTerm(beforeFirst, lastIssued(lastTerm, rules.seenTerm), rules.termFloor);
  // The state `confirming` means that an earlier claim of this candidate has an unknown outcome, or
  // that a handover has named this candidate and may have elected it.
  const unknownOutcome = state.phase === 'confirming' || state.unknownOutcome;
  const evict = (ahead ?? []).slice(0, WATCH_WINDOW).map(({ entry }) => entry);
  // A successor has not read the queue: the leader that named it has.
  const nobodyAhead = ahead === undefined ? lastTerm?.ended?.nobodyAhead === true : ahead.length === evict.length;
  return {
    phase: 'claiming',
    entry: state.entry,
    unknownOutcome,
    claim: { term: termAfter(issued), termEntry, holder: holderOf(lastTerm), evict, nobodyAhead },
  };
}

function waiting(state: In<'waiting'>, event: CandidateEvent, rules: CandidateRules): CandidateState {
  const { entry, unknownOutcome, wait } = state;
  switch (event.type) {
    case 'entryChanged':
      return event.entry.key === entry.key ? entryChanged(state, event, rules) : state;
    case 'woke':
      if (wait.for === 'successor') return { phase: 'looking', entry, unknownOutcome, passed: { successorOf: wait.term } };
      if (wait.for === 'ahead' && wait.isNextInLine) return claimAfter(wait.key, state, event.termEntry, rules);
      return { phase: 'looking', entry, unknownOutcome };
    case 'claimTimedOut':
      return { phase: 'looking', entry, unknownOutcome, passed: wait.for === 'successor' ? { successorOf: wait.term } : 'queue' };
    case 'due':
      return { phase: 'looking', entry, unknownOutcome };
    case 'failed':
      return pause({ phase: 'looking', entry, unknownOutcome });
    default:
      return state;
  }
}

/**
 * This candidate's entry has changed. A mark that is certain says that the candidate leads: see
 * `protocol/mark.ts`. If an earlier claim or enqueue of the candidate has an unknown outcome, it
 * reads whether it leads. Without a mark, an operator has changed the entry, and the candidate
 * looks again.
 */
function entryChanged(
  state: In<'waiting'>,
  { entry, termEntry }: Extract<CandidateEvent, { type: 'entryChanged' }>,
  rules: CandidateRules,
): CandidateState {
  if (readCandidate(entry).handoverTerm === undefined) return { phase: 'looking', entry, unknownOutcome: state.unknownOutcome };
  const won = state.unknownOutcome ? undefined : wonAtMark(entry, { termEntry, revisionInSwap: rules.revisionInSwap });
  if (won !== undefined) return { phase: 'elected', won };
  return { phase: 'confirming', entry, termEntry: isTermOf(termEntry, entry.key) ? termEntry : undefined };
}

/**
 * The one right ahead has gone. If a watch has shown its term, claims without another read. The
 * store refuses the claim if the term has changed since.
 */
function claimAfter(
  key: Key,
  { entry, unknownOutcome }: WaitingEntry,
  termEntry: Entry | undefined,
  rules: CandidateRules,
): CandidateState {
  const look = { phase: 'looking', entry, unknownOutcome, goneAhead: key } as const;
  const isKnown = isTermOf(termEntry, key) || isEndedTermOf(termEntry, key);
  return isKnown ? looking(look, { type: 'looked', queue: undefined, termEntry }, rules) : look;
}

/** The index of each change in the swap of a claim: see `claimChanges` in `transactions.ts`. */
const claimPart = { leader: 0, term: 1, entry: 2, holder: 3 } as const;

function claiming(state: In<'claiming'>, event: CandidateEvent, rules: CandidateRules): CandidateState {
  switch (event.type) {
    case 'swapped':
      return elected(state.entry, {
        term: state.claim.term,
        leaderRevision: event.revisions[claimPart.leader],
        termRevision: event.revisions[claimPart.term],
        termValue: event.termValue,
        previous: state.claim.termEntry === undefined ? undefined : previousOf(readTerm(state.claim.termEntry)),
      });
    case 'notSwapped':
      return refused(state, event.failed, rules);
    case 'failed':
      return pause(event.unknown ? { phase: 'confirming', entry: state.entry } : toLooking(state));
    default:
      return state;
  }
}

function toLooking(state: In<'claiming'>): In<'looking'> {
  return { phase: 'looking', entry: state.entry, unknownOutcome: state.unknownOutcome };
}

/** A term that this candidate has won, and what it knows about the keys. */
interface Known {
  readonly term: bigint;
  readonly leaderRevision: Revision | undefined;
  readonly termRevision: Revision | undefined;
  readonly termValue: Uint8Array | undefined;
  readonly previous: PreviousRecord | undefined;
}

/** Elected if both revisions are known. Otherwise they are read first. */
function elected(entry: Entry, { leaderRevision, termRevision, ...known }: Known): CandidateState {
  if (leaderRevision === undefined || termRevision === undefined) return { phase: 'confirming', entry };
  return { phase: 'elected', won: { entry, leaderRevision, termRevision, ...known } };
}

/** The store refused the claim. The failed checks say what to wait for. */
function refused(
  state: In<'claiming'>,
  failed: Extract<CandidateEvent, { type: 'notSwapped' }>['failed'],
  rules: CandidateRules,
): CandidateState {
  const { entry, unknownOutcome } = state;
  const entryCheck = failed.find(({ index }) => index === claimPart.entry);
  if (entryCheck !== undefined) {
    if (entryCheck.current === undefined) return removed(state);
    return { phase: 'confirming', entry: entryCheck.current };
  }
  const leaderEntry = failed.find(({ index }) => index === claimPart.leader)?.current;
  if (leaderEntry !== undefined) {
    if (readLeader(leaderEntry).entry === entry.key) return { phase: 'confirming', entry };
    return { phase: 'waiting', entry, unknownOutcome, wait: { for: 'leader', key: rules.keys.leader } };
  }
  const { holder, nobodyAhead, evict } = state.claim;
  if (holder === undefined) return toLooking(state);
  if (failed.some(({ index }) => index === claimPart.holder)) {
    return { phase: 'waiting', entry, unknownOutcome, wait: { for: 'ahead', key: holder, position: 0, isNextInLine: false } };
  }
  // The watch showed the end of the holder's entry before the end of its term.
  const termEntry = failed.find(({ index }) => index === claimPart.term)?.current;
  const isNextInLine = rules.succession.byArrival && nobodyAhead && evict.length === 0;
  return isNextInLine && isEndedTermOf(termEntry, holder) ? claimAfter(holder, state, termEntry, rules) : toLooking(state);
}

function confirming(state: In<'confirming'>, event: CandidateEvent, rules: CandidateRules): CandidateState {
  // Read everything again after a pause.
  const { termEntry: _read, ...again } = state;
  if (event.type === 'failed') return pause(again);
  if (event.type === 'entryChanged') return event.entry.key === state.entry.key ? { ...again, entry: event.entry } : state;
  if (event.type !== 'read') return state;
  const { entry, exit } = state;
  const { termEntry, leaderEntry } = event;
  const lastTerm = termEntry && readTerm(termEntry);
  const leader = leaderEntry && readLeader(leaderEntry);
  if (leader?.entry === entry.key) {
    if (state.entryGone === true) return { phase: 'out', exit: { why: 'orphaned', entry } };
    const ownTermEntry = lastTerm?.entry === entry.key ? termEntry : undefined;
    const won = elected(entry, {
      term: leader.term,
      leaderRevision: leaderEntry?.revision,
      termRevision: ownTermEntry?.revision,
      termValue: ownTermEntry?.value,
      previous: leader.previous,
    });
    if (won.phase === 'elected') return won;
    // The term was read before the claim was applied. If the term is not this candidate's at the
    // second read either, somebody has changed it: then the record must go.
    return state.secondRead === true
      ? { phase: 'withdrawing', entry, unknownOutcome: true, exit: exit ?? { why: 'removed' } }
      : pause({ ...again, secondRead: true });
  }
  if (state.entryGone === true) return { phase: 'out', exit: exit ?? { why: 'removed' } };
  if (exit !== undefined) return { phase: 'withdrawing', entry, unknownOutcome: true, exit };
  // The last term was this candidate's, and the leader's record is gone. This candidate's entry
  // blocks every claim, also its own, until the entry is deleted.
  if (lastTerm?.entry === entry.key) return { phase: 'withdrawing', entry, unknownOutcome: true, exit: { why: 'removed' } };
  if (lastTerm?.ended?.successor === entry.key) return claim(state, termEntry, rules);
  return { phase: 'looking', entry, unknownOutcome: true };
}

function withdrawing(state: In<'withdrawing'>, event: CandidateEvent): CandidateState {
  const { unknownOutcome, exit } = state;
  switch (event.type) {
    case 'enqueued':
      // A handover in one swap may have elected the entry since the first enqueue.
      return { ...state, entry: event.entry, unknownOutcome: true };
    case 'swapped':
      return withdrawn(state);
    case 'notSwapped': {
      const current = event.failed[0]?.current;
      if (current === undefined) return withdrawn({ ...state, unknownOutcome: true });
      return readCandidate(current).handoverTerm === undefined
        ? { phase: 'withdrawing', entry: current, unknownOutcome, exit }
        : { phase: 'confirming', entry: current, exit };
    }
    case 'failed':
      return pause(state);
    default:
      return state;
  }
}

/**
 * This candidate's entry is gone. Finds out whether an earlier claim of it was applied, if one may
 * have been.
 */
function withdrawn(state: In<'withdrawing'>): CandidateState {
  const { entry, unknownOutcome, exit } = state;
  if (!unknownOutcome || entry === undefined) return { phase: 'out', exit };
  return { phase: 'confirming', entry, exit, entryGone: true };
}

/** Leaves the queue: the caller gave up, or an error ended the campaign. */
function leave(state: CandidateState, exit: Exit): CandidateState {
  switch (state.phase) {
    case 'joining':
      return state.unknownOutcome ? { phase: 'withdrawing', entry: undefined, unknownOutcome: false, exit } : { phase: 'out', exit };
    case 'looking':
    case 'waiting':
    case 'claiming':
      return { phase: 'withdrawing', entry: state.entry, unknownOutcome: state.unknownOutcome, exit };
    case 'confirming':
      return state.entryGone === true ? state : { ...state, exit };
    case 'pausing':
      return leave(state.then, exit);
    case 'withdrawing':
      return { ...state, exit };
    case 'elected':
    case 'out':
      return state;
    default:
      return state satisfies never;
  }
}

/**
 * An error that a retry does not solve. A withdrawal is tried once; after that the entry goes with
 * its lease.
 */
function fail(state: CandidateState, error: unknown): CandidateState {
  const exit: Exit = { why: 'failed', error };
  if (state.phase === 'withdrawing' || state.phase === 'confirming') return { phase: 'out', exit };
  if (state.phase === 'claiming') return { phase: 'withdrawing', entry: state.entry, unknownOutcome: true, exit };
  return leave(state, exit);
}

/**
 * Somebody deleted this candidate's entry. The store can apply no claim of the candidate any more,
 * but may have applied an earlier claim, or a handover in one swap.
 */
function removed(state: CandidateState): CandidateState {
  const exit: Exit = { why: 'removed' };
  switch (state.phase) {
    case 'looking':
    case 'waiting':
    case 'claiming':
      return { phase: 'confirming', entry: state.entry, exit, entryGone: true };
    case 'confirming':
      return { phase: 'confirming', entry: state.entry, exit: state.exit ?? exit, entryGone: true };
    case 'pausing':
      return removed(state.then);
    case 'withdrawing':
      return withdrawn({ ...state, unknownOutcome: true });
    case 'joining':
    case 'elected':
    case 'out':
      return state;
    default:
      return state satisfies never;
  }
}
