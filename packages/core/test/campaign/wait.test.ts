/** The transitions of a candidate until it claims: it joins, reads the queue, and waits. */

import { describe, expect, it } from 'vitest';
import { initialState, transition, WATCH_WINDOW } from '../../src/campaign/campaign-machine.ts';
import type { CandidateEvent, CandidateRules, CandidateState } from '../../src/campaign/state.ts';
import { byPriority, type Entry } from '../../src/index.ts';
import {
  behind,
  claim,
  confirmGone,
  confirming,
  failedExit,
  fatal,
  forSuccessor,
  gone,
  successor,
  joining,
  late,
  looked,
  looking,
  me,
  other,
  pausing,
  refused,
  removedExit,
  stop,
  stopped,
  table,
  termThen,
  unknown,
  wait,
  withdraw,
  type Row,
} from '../support/campaigns.ts';
import { writeRequest } from '../../src/protocol/record.ts';
import type { Won } from '../../src/protocol/transactions.ts';
import { electedIn, keys, named, queued, rules, termOf, touched, type In } from '../support/candidates.ts';
import { entryOf } from '../support/entries.ts';

/** What removes the entry of a candidate in this state, and what follows. */
function removals(state: In<'looking'> | In<'waiting'>): readonly Row[] {
  return [
    ['a fatal error removes its entry', state, fatal, withdraw({ exit: failedExit })],
    ['removed, it reads whether a handover elected it', state, gone, confirmGone(removedExit)],
    [
      'removed after an unknown outcome, it reads whether it was elected',
      { ...state, unknownOutcome: true },
      gone,
      confirmGone(removedExit),
    ],
  ];
}

describe('joining', () => {
  table([
    ['an entry that is there is looked at', initialState, { type: 'enqueued', entry: me }, looking],
    [
      'an entry that was there before may have been made the leader',
      { ...joining, unknownOutcome: true },
      { type: 'enqueued', entry: me },
      { ...looking, unknownOutcome: true },
    ],
    ['a try that certainly failed is made again', joining, refused, pausing(joining)],
    ['a try whose outcome is unknown leaves a unknownOutcome', joining, unknown, pausing({ ...joining, unknownOutcome: true })],
    [
      'a unknownOutcome stays, however the next try fails',
      { ...joining, unknownOutcome: true },
      refused,
      pausing({ ...joining, unknownOutcome: true }),
    ],
    ['stopped without a unknownOutcome, it is out', joining, stop, { phase: 'out', exit: stopped }],
    [
      'stopped in unknownOutcome, it finds its entry and removes it',
      { ...joining, unknownOutcome: true },
      stop,
      withdraw({ entry: undefined }),
    ],
    ['a fatal error ends it', joining, fatal, { phase: 'out', exit: failedExit }],
    [
      'after a fatal error in unknownOutcome it finds its entry',
      { ...joining, unknownOutcome: true },
      fatal,
      withdraw({ entry: undefined, exit: failedExit }),
    ],
    ['nothing can be removed yet', joining, gone, joining],
  ]);
});

describe('looking', () => {
  const ownTerm = termOf(5n, me);
  const first = termOf(4n, other, undefined, true);
  const after: In<'looking'> = { ...looking, goneAhead: other.key };
  table([
    ['alone where no term was ever issued, it claims term 1', looking, looked([me], undefined), claim(1n, undefined)],
    ['alone after a term, it claims the next, and its holder must be gone', looking, looked([me]), claim(5n, termThen)],
    ['an empty view of the queue is as good: the claim decides', looking, looked([]), claim(5n, termThen)],
    [
      'behind the leader, it waits for its entry',
      looking,
      looked([other, me]),
      wait({ for: 'ahead', key: other.key, position: 0, isNextInLine: true }),
    ],
    ['behind a candidate, it waits for that one', looking, looked([other, me], termOf(4n, late)), behind],
    ['whoever comes later is no concern', looking, looked([me, late]), claim(5n, termThen)],
    [
      'after an end on purpose nobody holds the term',
      looking,
      looked([me], termOf(4n, other, { reason: 'resigned' })),
      claim(5n, termOf(4n, other, { reason: 'resigned' })),
    ],
    ['and an entry of its holder is like any other', looking, looked([other, me], termOf(4n, other, { reason: 'resigned' })), behind],
    [
      'it waits for a leader that joined later',
      looking,
      looked([me, late], termOf(4n, late)),
      wait({ for: 'ahead', key: late.key, position: 0, isNextInLine: false }),
    ],
    [
      'the successor of a handover claims at once',
      looking,
      looked([other, me], termOf(4n, other, successor(me))),
      claim(5n, termOf(4n, other, successor(me)), [], false),
    ],
    [
      'and as the first, where whoever named it says so',
      looking,
      looked([other, me], termOf(4n, other, { ...successor(me), nobodyAhead: true })),
      claim(5n, termOf(4n, other, { ...successor(me), nobodyAhead: true })),
    ],
    [
      'the successor claims with its changed entry, if its watch has shown that',
      looking,
      { type: 'looked', queue: [other, me], termEntry: termOf(4n, other, successor(me)), ownEntry: named(me, 4n) },
      { ...claim(5n, termOf(4n, other, successor(me)), [], false), entry: named(me, 4n) },
    ],
    ['anybody else leaves the successor the first try', looking, looked([me, late], termOf(4n, other, successor(late))), forSuccessor],
    [
      'a successor that had its time is passed over',
      { ...looking, passed: { successorOf: 4n } },
      looked([me, late], termOf(4n, other, successor(late))),
      claim(5n, termOf(4n, other, successor(late))),
    ],
    [
      'the successor of a newer term has its own time',
      { ...looking, passed: { successorOf: 3n } },
      looked([me, late], termOf(4n, other, successor(late))),
      forSuccessor,
    ],
    [
      'candidates that had their time are removed by the claim',
      { ...looking, passed: 'queue' },
      looked([other, me], termOf(4n, late)),
      claim(5n, termOf(4n, late), [other]),
    ],
    [
      'a leader has no time to have: its entry is waited for, however the claim timeout ended',
      { ...looking, passed: 'queue' },
      looked([other, me]),
      wait({ for: 'ahead', key: other.key, position: 0, isNextInLine: true }),
    ],
    ['a term of its own means that it may have been elected', looking, looked([me], ownTerm), { ...confirming, termEntry: ownTerm }],
    [
      'a unknownOutcome goes along',
      { ...looking, unknownOutcome: true },
      looked([other, me], termOf(4n, late)),
      { ...behind, unknownOutcome: true },
    ],
    [
      'a unknownOutcome goes along into the next claim',
      { ...looking, unknownOutcome: true },
      looked([me]),
      { ...claim(5n, termThen), unknownOutcome: true },
    ],
    ['a look that failed is made again', looking, unknown, pausing(looking)],
    ['right after the one that led as the first, it need not see the queue', after, looked(undefined, first), claim(5n, first)],
    [
      'whether that was lost, or has ended on purpose',
      after,
      looked(undefined, termOf(4n, other, { reason: 'resigned' }, true)),
      claim(5n, termOf(4n, other, { reason: 'resigned' }, true)),
    ],
    ['after one that led out of order, it reads the queue', after, looked(undefined, termThen), looking],
    ['and after one that never led, while another did', after, looked(undefined, termOf(4n, late, undefined, true)), looking],
    ['and where no term was ever issued', after, looked(undefined, undefined), looking],
    ['but a successor comes before', after, looked(undefined, termOf(4n, other, successor(late), true)), forSuccessor],
    ['and a term of its own means as much as ever', after, looked(undefined, ownTerm), { ...confirming, termEntry: ownTerm }],
    ['that look is made again as well', after, unknown, pausing(after)],
    ['stopped, it removes its entry', looking, stop, withdraw()],
    [
      'stopped in unknownOutcome, it will look whether it was elected',
      { ...looking, unknownOutcome: true },
      stop,
      withdraw({ unknownOutcome: true }),
    ],
    ...removals(looking),
  ]);

  it('claims above the floor, and above the last term, whichever is higher', () => {
    const floored = { ...rules, termFloor: 41n };
    expect(transition(looking, looked([me], undefined), floored)).toMatchObject({ claim: { term: 42n } });
    expect(transition(looking, looked([me]), floored)).toMatchObject({ claim: { term: 42n } });
    expect(transition(looking, looked([me], termOf(90n, other)), floored)).toMatchObject({ claim: { term: 91n } });
  });

  it('evicts a bounded number at once', () => {
    const many = Array.from({ length: 20 }, (_, i) => queued(`m${i}`, i - 30));
    const state = transition({ ...looking, passed: 'queue' }, looked([...many, me], termOf(4n, late)), rules);
    expect(state).toMatchObject({ phase: 'claiming', claim: { evict: many.slice(0, WATCH_WINDOW) } });
  });

  it('follows the succession, whatever the order of joining', () => {
    const entries = [50, 10, 90]
      .map((rank, at) => queued(`p${rank}`, at + 10))
      .map((entry, at) => renamed(entry, `p~i~1~priority~${[50, 10, 90][at]}`));
    const state = transition({ phase: 'looking', entry: entries[0]!, unknownOutcome: false }, looked(entries, undefined), {
      ...rules,
      succession: byPriority(50),
    });
    expect(state).toMatchObject({ phase: 'waiting', wait: { for: 'ahead', key: entries[2]!.key, position: 1 } });
  });

  it('refuses a queue that follows another succession, by throwing', () => {
    const stranger = renamed(other, 'x~i~1~priority~5');
    expect(() => transition(looking, looked([stranger, me]), rules)).toThrow(expect.objectContaining({ code: 'SUCCESSION_MISMATCH' }));
  });

  it('refuses a term that it cannot read, by throwing', () => {
    expect(() => transition(looking, looked([me], entryOf(keys.term, 'hello')), rules)).toThrow(
      expect.objectContaining({ code: 'FOREIGN_DATA' }),
    );
  });
});

describe('waiting', () => {
  const given = termOf(4n, other, { reason: 'resigned' }, true);
  const [handed, newer] = [termOf(5n, me), termOf(6n, me)];
  const woke = (termEntry: Entry): CandidateEvent => ({ type: 'woke', termEntry });
  table([
    ['when the one right ahead has gone, it reads whether that led', behind, { type: 'woke' }, { ...looking, goneAhead: other.key }],
    [
      'if the watch shows that the one ahead led as the first and gave its term up, it claims at once',
      behind,
      woke(termOf(4n, other, { reason: 'resigned' }, true)),
      claim(5n, termOf(4n, other, { reason: 'resigned' }, true)),
    ],
    [
      'if the watch shows that the one ahead led out of order and gave its term up, it reads the queue',
      behind,
      woke(termOf(4n, other, { reason: 'resigned' })),
      looking,
    ],
    [
      'if the watch shows its term without an end, it claims at once, and checks that its entry has gone',
      behind,
      woke(termOf(4n, other, undefined, true)),
      claim(5n, termOf(4n, other, undefined, true)),
    ],
    ['if the watch shows its term without an end, and the one ahead led out of order, it reads the queue', behind, woke(termThen), looking],
    [
      'if the watch shows a successor, it reads the queue',
      behind,
      woke(termOf(4n, other, successor(late), true)),
      { ...looking, goneAhead: other.key },
    ],
    [
      'if the watch shows the end of another term, it reads the queue',
      behind,
      woke(termOf(4n, late, { reason: 'resigned' }, true)),
      { ...looking, goneAhead: other.key },
    ],
    [
      'if the watch shows an unreadable term, it reads the queue',
      behind,
      woke(entryOf(keys.term, 'hello')),
      { ...looking, goneAhead: other.key },
    ],
    [
      'a unknownOutcome goes along into that claim',
      { ...behind, unknownOutcome: true },
      woke(given),
      { ...claim(5n, given), unknownOutcome: true },
    ],
    [
      'when any other entry ahead has gone, it reads the queue again',
      { ...behind, wait: { for: 'ahead', key: late.key, position: 0, isNextInLine: false } },
      { type: 'woke' },
      looking,
    ],
    ['when the slow check is due, it reads the queue: the one ahead may lead by now', behind, { type: 'due' }, looking],
    ['when claim timeout is over, it passes the queue', behind, { type: 'claimTimedOut' }, { ...looking, passed: 'queue' }],
    ['when the successor has gone, its time is over', forSuccessor, { type: 'woke' }, { ...looking, passed: { successorOf: 4n } }],
    [
      "when the successor's time is over, it is passed over",
      forSuccessor,
      { type: 'claimTimedOut' },
      { ...looking, passed: { successorOf: 4n } },
    ],
    [
      'named by a handover, with a watched term of its own, it reads whether it still leads',
      behind,
      { type: 'entryChanged', entry: named(me, 5n), termEntry: handed },
      { ...confirming, entry: named(me, 5n), termEntry: handed },
    ],
    [
      'named by a handover, with a watched term of another member, it reads both keys',
      behind,
      { type: 'entryChanged', entry: named(me, 5n), termEntry: termOf(5n, other) },
      { ...confirming, entry: named(me, 5n) },
    ],
    [
      'named by a handover, with a watched term of its own that is over, it reads both keys',
      behind,
      { type: 'entryChanged', entry: named(me, 5n), termEntry: termOf(5n, me, { reason: 'steppedDown' }) },
      { ...confirming, entry: named(me, 5n) },
    ],
    [
      'named by a handover, it reads whether it is elected',
      behind,
      { type: 'entryChanged', entry: named(me, 4n) },
      { ...confirming, entry: named(me, 4n) },
    ],
    [
      'marked by a handover in one swap, it leads if it knows the revision of the term',
      behind,
      { type: 'entryChanged', entry: electedIn(me, 5n), termEntry: handed },
      { phase: 'elected', won: wonBy(electedIn(me, 5n), handed) },
    ],
    [
      'marked by a handover in one swap, it reads the term if it does not know its revision',
      behind,
      { type: 'entryChanged', entry: electedIn(me, 5n) },
      { ...confirming, entry: electedIn(me, 5n) },
    ],
    [
      'marked by a handover in one swap, it reads the term if its watch shows another one',
      behind,
      { type: 'entryChanged', entry: electedIn(me, 5n), termEntry: newer },
      { ...confirming, entry: electedIn(me, 5n), termEntry: newer },
    ],
    [
      'marked by a handover in one swap, with an outcome unknown, it reads whether it leads',
      { ...behind, unknownOutcome: true },
      { type: 'entryChanged', entry: electedIn(me, 5n), termEntry: handed },
      { ...confirming, entry: electedIn(me, 5n), termEntry: handed },
    ],
    [
      'changed by no handover, it goes on with the new entry',
      behind,
      { type: 'entryChanged', entry: touched(me) },
      { ...looking, entry: touched(me) },
    ],
    ['the mark of another entry changes nothing', behind, { type: 'entryChanged', entry: named(other, 5n), termEntry: handed }, behind],
    ['a watch that cannot go on is begun again', behind, refused, pausing(looking)],
    ['stopped, it removes its entry', behind, stop, withdraw()],
    ...removals(behind),
  ]);
});

function renamed<E extends Entry>(entry: E, name: string): E {
  return { ...entry, name, key: `${keys.candidates}/${name}` };
}

describe('marked by a handover, where all keys of a swap have one revision', () => {
  const sharing: CandidateRules = { ...rules, revisionInSwap: (revision) => revision };
  const mark = electedIn(me, 5n, '7');
  const shared = { ...termOf(5n, me), revision: '7' };
  const seen = (entry: Entry, termEntry?: Entry): CandidateState => transition(behind, { type: 'entryChanged', entry, termEntry }, sharing);

  it('it leads, and knows the revisions of the term and of the record', () => {
    const won = { term: 5n, entry: mark, leaderRevision: '7', termRevision: '7', termValue: undefined, previous };
    expect(seen(mark)).toEqual({ phase: 'elected', won });
    expect(seen(mark, termThen)).toEqual({ phase: 'elected', won });
    expect(seen(mark, shared)).toEqual({ phase: 'elected', won: { ...won, termValue: shared.value } });
  });

  it('it reads whether it leads if the watch of the term shows another revision: the entry has changed since', () => {
    expect(seen({ ...mark, revision: '8' }, shared)).toMatchObject({ phase: 'confirming' });
  });

  it('it reads whether it leads if an operator has made a request in the entry', () => {
    expect(seen({ ...mark, value: writeRequest(mark, 'b'), revision: '8' })).toMatchObject({ phase: 'confirming' });
  });

  it('it reads whether it leads if an older version made the mark', () => {
    expect(seen(named(me, 5n), shared)).toMatchObject({ phase: 'confirming' });
  });
});

const previous = { term: 4n, memberId: 'm', reason: 'handover' };

function wonBy(entry: Entry, term: Entry): Won {
  return { term: 5n, entry, leaderRevision: undefined, termRevision: term.revision, termValue: term.value, previous };
}
