/** The transitions of a candidate that claims, confirms the result, or leaves. */

import { describe, expect, it } from 'vitest';
import { transition } from '../../src/campaign/campaign-machine.ts';
import type { CandidateState } from '../../src/campaign/state.ts';
import {
  behind,
  claim,
  claiming,
  confirmGone,
  confirming,
  elected,
  failedExit,
  fatal,
  gone,
  successor,
  joining,
  late,
  looked,
  looking,
  me,
  notSwapped,
  orphaned,
  other,
  out,
  paused,
  pausing,
  read,
  refused,
  removedExit,
  stop,
  stopped,
  swapped,
  table,
  unknown,
  wait,
  withdraw,
  withdrawing,
} from '../support/campaigns.ts';
import { keys, leaderOf, named, rules, termOf, touched } from '../support/candidates.ts';

describe('claiming', () => {
  const enqueueUnknown = { ...claiming, unknownOutcome: true };
  const given = termOf(4n, other, { reason: 'resigned' }, true);
  const toLeader = wait({ for: 'leader', key: keys.leader });
  table([
    ['swapped, it is elected', claiming, swapped, elected],
    ['swapped by a store that tells no revisions, it reads them', claiming, { type: 'swapped', revisions: [] }, confirming],
    ['an unknown outcome is looked into', claiming, unknown, pausing(confirming)],
    ['a claim that certainly did not happen is followed by another look', claiming, refused, pausing(looking)],
    ['and an older unknownOutcome stays', enqueueUnknown, refused, pausing({ ...looking, unknownOutcome: true })],
    ['refused by a leader, it waits for its record to go', claiming, notSwapped([0, leaderOf(5n, late)]), toLeader],
    [
      'refused by its own record, it was elected by an earlier try',
      claiming,
      notSwapped([0, leaderOf(5n, me)], [1, termOf(5n, me)]),
      confirming,
    ],
    [
      "refused by the last holder's entry, it waits for that",
      claiming,
      notSwapped([3, other]),
      wait({ for: 'ahead', key: other.key, position: 0, isNextInLine: false }),
    ],
    ['refused by a newer term, it reads the queue again', claiming, notSwapped([1, termOf(5n, late)]), looking],
    [
      'refused because the holder has given its term up meanwhile, it claims after that term at once',
      { ...claiming, claim: { ...claiming.claim, termEntry: termOf(4n, other, undefined, true) } },
      notSwapped([1, given]),
      claim(5n, given),
    ],
    [
      'refused because the holder has handed its term over meanwhile, it reads the queue again',
      claiming,
      notSwapped([1, termOf(4n, other, successor(late), true)]),
      looking,
    ],
    [
      'refused because the holder has given its term up meanwhile, after candidates ahead, it reads the queue again',
      { ...claiming, claim: { ...claiming.claim, nobodyAhead: false } },
      notSwapped([1, given]),
      looking,
    ],
    ['refused by one of those ahead, who has moved, it reads the queue again', claiming, notSwapped([4, touched(late)]), looking],
    [
      'refused because its entry has changed, it reads why',
      claiming,
      notSwapped([2, named(me, 4n)]),
      { ...confirming, entry: named(me, 4n) },
    ],
    [
      'refused because its entry is gone, it reads whether a handover elected it',
      claiming,
      notSwapped([2, undefined]),
      confirmGone(removedExit),
    ],
    ['and whether an earlier claim did', enqueueUnknown, notSwapped([2, undefined]), confirmGone(removedExit)],
    ['stopped before it was sent, it removes its entry', claiming, stop, withdraw()],
    ['stopped with an older claim in unknownOutcome, it will look', enqueueUnknown, stop, withdraw({ unknownOutcome: true })],
    ['a fatal error leaves a unknownOutcome', claiming, fatal, withdraw({ exit: failedExit, unknownOutcome: true })],
  ]);
});

describe('confirming', () => {
  const [mine, theirs] = [termOf(5n, me), termOf(5n, other)];
  const record = leaderOf(5n, me);
  const won: CandidateState = {
    phase: 'elected',
    won: { term: 5n, entry: me, leaderRevision: record.revision, termRevision: mine.revision, termValue: mine.value },
  };
  const leaving = { ...confirming, exit: stopped };
  table([
    ['its record and its term: it is elected', confirming, read(mine, record), won],
    ['elected although it wants to leave: its holder resigns', leaving, read(mine, record), won],
    [
      'elected although its entry is gone: what is left of that must go',
      { ...leaving, entryGone: true },
      read(mine, record),
      { phase: 'out', exit: orphaned },
    ],
    [
      'its record, and a term that was read before: it reads again, after a while',
      confirming,
      read(theirs, record),
      pausing({ ...confirming, secondRead: true }),
    ],
    ['and does not forget that it leaves', leaving, read(theirs, record), pausing({ ...leaving, secondRead: true })],
    [
      'its record, and still not the term: it gives both up',
      { ...confirming, secondRead: true },
      read(theirs, record),
      withdraw({ unknownOutcome: true, exit: removedExit }),
    ],
    ['even if the term was read before', { ...confirming, entryGone: true }, read(theirs, record), { phase: 'out', exit: orphaned }],
    ['not elected, it reads the queue again, with an unknown outcome', confirming, read(theirs), { ...looking, unknownOutcome: true }],
    ['not elected where nothing is there, it reads the queue again', confirming, read(), { ...looking, unknownOutcome: true }],
    ['not elected, and leaving: it removes its entry', leaving, read(theirs, leaderOf(5n, other)), withdraw({ unknownOutcome: true })],
    ['not elected, and its entry gone: it is out', confirmGone(stopped), read(theirs), out],
    [
      'not elected, and its entry taken away: it is out',
      { ...confirming, entryGone: true },
      read(theirs),
      { phase: 'out', exit: removedExit },
    ],
    [
      'named as the successor, it claims, and an earlier claim stays in unknownOutcome',
      confirming,
      read(termOf(4n, other, successor(me))),
      { ...claim(5n, termOf(4n, other, successor(me)), [], false), unknownOutcome: true },
    ],
    [
      'named as the successor, and leaving: it removes its entry',
      leaving,
      read(termOf(4n, other, successor(me))),
      withdraw({ unknownOutcome: true }),
    ],
    [
      'its term, and no record any more: its entry bars every claim, and goes',
      confirming,
      read(mine),
      withdraw({ unknownOutcome: true, exit: removedExit }),
    ],
    ['a read that failed is made again', confirming, unknown, pausing(confirming)],
    ['a newer handover is taken in', confirming, { type: 'entryChanged', entry: named(me, 4n) }, { ...confirming, entry: named(me, 4n) }],
    ['the mark of another entry changes nothing', confirming, { type: 'entryChanged', entry: named(other, 4n) }, confirming],
    ['stopped, it still reads first', confirming, stop, leaving],
    ['stopped with its entry gone, it reads first', confirmGone(removedExit), stop, confirmGone(removedExit)],
    ['removed, it reads first', confirming, gone, confirmGone(removedExit)],
    ['removed while it leaves, it leaves', leaving, gone, confirmGone(stopped)],
    ['a fatal error ends it', confirming, fatal, { phase: 'out', exit: failedExit }],
  ]);
});

describe('withdrawing', () => {
  const searching = withdraw({ entry: undefined });
  table([
    ['its entry deleted, it is out', withdrawing, swapped, out],
    [
      'its entry deleted with a claim of unknown outcome, it reads whether that was applied',
      withdraw({ unknownOutcome: true }),
      swapped,
      confirmGone(stopped),
    ],
    [
      'its entry found, it may have been made a successor by then',
      searching,
      { type: 'enqueued', entry: me },
      withdraw({ unknownOutcome: true }),
    ],
    ['its entry gone already, it reads whether it was elected', withdrawing, notSwapped([0, undefined]), confirmGone(stopped)],
    ['its entry changed, it deletes what is there', withdrawing, notSwapped([0, touched(me)]), withdraw({ entry: touched(me) })],
    [
      'its entry named by a handover, it may be the leader',
      withdrawing,
      notSwapped([0, named(me, 4n)]),
      { phase: 'confirming', entry: named(me, 4n), exit: stopped },
    ],
    ['a try that failed is made again', withdrawing, unknown, pausing(withdrawing)],
    ['a search that failed is made again', searching, refused, pausing(searching)],
    ['removed, it reads whether it was elected', withdrawing, gone, confirmGone(stopped)],
    ['stopped after an error, it is stopped', withdraw({ exit: failedExit }), stop, withdrawing],
    ['a fatal error ends it', withdrawing, fatal, { phase: 'out', exit: failedExit }],
  ]);
});

describe('pausing', () => {
  table([
    ['ends with what was to be done', pausing(looking), paused, looking],
    ['is for nothing else', pausing(looking), swapped, pausing(looking)],
    [
      'stopped, it does at once what the stop asks for',
      pausing({ ...joining, unknownOutcome: true }),
      stop,
      withdraw({ entry: undefined }),
    ],
    ['removed, it does at once what that asks for', pausing({ ...looking, unknownOutcome: true }), gone, confirmGone(removedExit)],
    ['a fatal error ends what was paused', pausing(looking), fatal, withdraw({ exit: failedExit })],
  ]);
});

describe('a campaign that is over', () => {
  const events = [
    stop,
    fatal,
    gone,
    paused,
    swapped,
    unknown,
    notSwapped(),
    read(),
    looked([]),
    { type: 'woke' },
    { type: 'due' },
    { type: 'enqueued', entry: me },
  ] as const;
  it.each(events.map((event) => [event.type, event] as const))('stays so: %s', (_, event) => {
    expect(transition(elected, event, rules)).toBe(elected);
    expect(transition(out, event, rules)).toBe(out);
  });
});

describe('an event that does not belong to a phase', () => {
  const states: readonly CandidateState[] = [joining, looking, behind, claiming, confirming, withdrawing];
  it.each(states.map((state) => [state.phase, state] as const))('changes nothing while %s', (_, state) => {
    expect(transition(state, paused, rules)).toBe(state);
    if (state.phase !== 'waiting') expect(transition(state, { type: 'claimTimedOut' }, rules)).toBe(state);
  });
});
