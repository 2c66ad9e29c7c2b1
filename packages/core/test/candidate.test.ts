import { describe, expect, it } from 'vitest';
import { next, start, WATCH_WINDOW } from '../src/candidate.ts';
import type { CandidateEvent, CandidateState, Exit } from '../src/candidate-state.ts';
import { byPriority, IncumbentError, type Entry } from '../src/index.ts';
import { readTerm } from '../src/record.ts';
import { keys, leaderOf, marked, queued, rules, termOf, touched, type In } from './support/candidates.ts';
import { entryOf } from './support/entries.ts';

const [other, me, late] = [queued('other', 1), queued('me', 2), queued('late', 3)];
const stopped: Exit = { why: 'stopped' };
const removedExit: Exit = { why: 'removed' };
const error = new IncumbentError('FOREIGN_DATA', 'strange');
const failedExit: Exit = { why: 'failed', error };
const orphaned: Exit = { why: 'orphaned', entry: me };

const joining: In<'joining'> = { phase: 'joining', doubt: false };
const looking: In<'looking'> = { phase: 'looking', entry: me, doubt: false };
const behind: In<'waiting'> = { phase: 'waiting', entry: me, doubt: false, wait: { for: 'ahead', key: other.key, position: 1 } };
const forHeir: In<'waiting'> = { phase: 'waiting', entry: me, doubt: false, wait: { for: 'heir', key: late.key, term: 4n } };
const termThen = termOf(4n, other);
const claiming: In<'claiming'> = {
  phase: 'claiming',
  entry: me,
  doubt: false,
  claim: { term: 5n, termEntry: termThen, holder: other.key, evict: [] },
};
const confirming: In<'confirming'> = { phase: 'confirming', entry: me };
const withdrawing: In<'withdrawing'> = { phase: 'withdrawing', entry: me, doubt: false, exit: stopped };
const elected: In<'elected'> = { phase: 'elected', won: { term: 5n, entry: me, leaderRevision: 'l', termRevision: 't' } };
const out: In<'out'> = { phase: 'out', exit: stopped };

const unknown: CandidateEvent = { type: 'failed', unknown: true };
const refused: CandidateEvent = { type: 'failed', unknown: false };
const stop: CandidateEvent = { type: 'stop' };
const fatal: CandidateEvent = { type: 'fatal', error };
const gone: CandidateEvent = { type: 'removed' };
const paused: CandidateEvent = { type: 'paused' };
const swapped: CandidateEvent = { type: 'swapped', revisions: ['l', 't', undefined, undefined] };

/** With the term as it was then, unless another, or none, is given. */
function looked(queue: readonly Entry[], ...terms: readonly (Entry | undefined)[]): CandidateEvent {
  return { type: 'looked', queue, term: terms.length === 0 ? termThen : terms[0] };
}

function read(term?: Entry, leader?: Entry): CandidateEvent {
  return { type: 'read', term, leader };
}

function notSwapped(...failed: readonly (readonly [number, Entry | undefined])[]): CandidateEvent {
  return { type: 'notSwapped', failed: failed.map(([index, current]) => ({ index, current })) };
}

function pausing(then: CandidateState): CandidateState {
  return { phase: 'pausing', then };
}

function withdraw(from: Partial<In<'withdrawing'>> = {}): CandidateState {
  return { ...withdrawing, ...from };
}

/** I am gone from the queue: was I elected before that? */
function confirmGone(exit: Exit): CandidateState {
  return { phase: 'confirming', entry: me, exit, gone: true };
}

type Row = readonly [claim: string, state: CandidateState, event: CandidateEvent, then: CandidateState];

function table(rows: readonly Row[]): void {
  it.each(rows)('%s', (_, state, event, then) => {
    expect(next(state, event, rules)).toEqual(then);
  });
}

describe('joining', () => {
  table([
    ['an entry that is there is looked at', start, { type: 'enqueued', entry: me }, looking],
    [
      'an entry that was there before may have been made the leader',
      { ...joining, doubt: true },
      { type: 'enqueued', entry: me },
      { ...looking, doubt: true },
    ],
    ['a try that certainly failed is made again', joining, refused, pausing(joining)],
    ['a try whose outcome is unknown leaves a doubt', joining, unknown, pausing({ ...joining, doubt: true })],
    ['a doubt stays, however the next try fails', { ...joining, doubt: true }, refused, pausing({ ...joining, doubt: true })],
    ['stopped without a doubt, it is out', joining, stop, { phase: 'out', exit: stopped }],
    ['stopped in doubt, it finds its entry and removes it', { ...joining, doubt: true }, stop, withdraw({ entry: undefined })],
    ['a fatal error ends it', joining, fatal, { phase: 'out', exit: failedExit }],
    [
      'after a fatal error in doubt it finds its entry',
      { ...joining, doubt: true },
      fatal,
      withdraw({ entry: undefined, exit: failedExit }),
    ],
    ['nothing can be removed yet', joining, gone, joining],
  ]);
});

describe('looking', () => {
  const ownTerm = termOf(5n, me);
  table([
    ['alone where no term was ever issued, it claims term 1', looking, looked([me], undefined), claim(1n, undefined)],
    ['alone after a term, it claims the next, and its holder must be gone', looking, looked([me]), claim(5n, termThen)],
    ['an empty view of the queue is as good: the claim decides', looking, looked([]), claim(5n, termThen)],
    ['behind the leader, it waits for its entry', looking, looked([other, me]), wait({ for: 'ahead', key: other.key, position: 0 })],
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
      wait({ for: 'ahead', key: late.key, position: 0 }),
    ],
    [
      'the heir of a handover claims at once',
      looking,
      looked([other, me], termOf(4n, other, heir(me))),
      claim(5n, termOf(4n, other, heir(me))),
    ],
    ['anybody else leaves the heir the first try', looking, looked([me, late], termOf(4n, other, heir(late))), forHeir],
    [
      'an heir that had its time is passed over',
      { ...looking, passed: { heirOf: 4n } },
      looked([me, late], termOf(4n, other, heir(late))),
      claim(5n, termOf(4n, other, heir(late))),
    ],
    [
      'the heir of a newer term has its own time',
      { ...looking, passed: { heirOf: 3n } },
      looked([me, late], termOf(4n, other, heir(late))),
      forHeir,
    ],
    [
      'candidates that had their time are removed by the claim',
      { ...looking, passed: 'queue' },
      looked([other, me], termOf(4n, late)),
      claim(5n, termOf(4n, late), [other]),
    ],
    [
      'a leader has no time to have: its entry is waited for, however patience ended',
      { ...looking, passed: 'queue' },
      looked([other, me]),
      wait({ for: 'ahead', key: other.key, position: 0 }),
    ],
    ['a term of its own means that it may have been elected', looking, looked([me], ownTerm), { ...confirming, term: ownTerm }],
    ['a doubt goes along', { ...looking, doubt: true }, looked([other, me], termOf(4n, late)), { ...behind, doubt: true }],
    ['a doubt goes along into the next claim', { ...looking, doubt: true }, looked([me]), { ...claim(5n, termThen), doubt: true }],
    ['a look that failed is made again', looking, unknown, pausing(looking)],
    ['stopped, it removes its entry', looking, stop, withdraw()],
    ['stopped in doubt, it will look whether it was elected', { ...looking, doubt: true }, stop, withdraw({ doubt: true })],
    ['a fatal error removes its entry', looking, fatal, withdraw({ exit: failedExit })],
    ['removed, it looks whether a handover elected it', looking, gone, confirmGone(removedExit)],
    ['removed in doubt, it looks whether it was elected before', { ...looking, doubt: true }, gone, confirmGone(removedExit)],
  ]);

  it('claims above the floor, and above the last term, whichever is higher', () => {
    const floored = { ...rules, termFloor: 41n };
    expect(next(looking, looked([me], undefined), floored)).toMatchObject({ claim: { term: 42n } });
    expect(next(looking, looked([me]), floored)).toMatchObject({ claim: { term: 42n } });
    expect(next(looking, looked([me], termOf(90n, other)), floored)).toMatchObject({ claim: { term: 91n } });
  });

  it('evicts a bounded number at once', () => {
    const many = Array.from({ length: 20 }, (_, i) => queued(`m${i}`, i - 30));
    const state = next({ ...looking, passed: 'queue' }, looked([...many, me], termOf(4n, late)), rules);
    expect(state).toMatchObject({ phase: 'claiming', claim: { evict: many.slice(0, WATCH_WINDOW) } });
  });

  it('follows the succession, whatever the order of joining', () => {
    const entries = [50, 10, 90]
      .map((rank, at) => queued(`p${rank}`, at + 10))
      .map((entry, at) => renamed(entry, `p~i~1~priority~${[50, 10, 90][at]}`));
    const state = next({ phase: 'looking', entry: entries[0]!, doubt: false }, looked(entries, undefined), {
      ...rules,
      succession: byPriority(50),
    });
    expect(state).toMatchObject({ phase: 'waiting', wait: { for: 'ahead', key: entries[2]!.key, position: 1 } });
  });

  it('refuses a queue that follows another succession, by throwing', () => {
    const stranger = renamed(other, 'x~i~1~priority~5');
    expect(() => next(looking, looked([stranger, me]), rules)).toThrow(expect.objectContaining({ code: 'SUCCESSION_MISMATCH' }));
  });

  it('refuses a term that it cannot read, by throwing', () => {
    expect(() => next(looking, looked([me], entryOf(keys.term, 'hello')), rules)).toThrow(
      expect.objectContaining({ code: 'FOREIGN_DATA' }),
    );
  });
});

describe('waiting', () => {
  table([
    ['when the one ahead has gone, it looks again', behind, { type: 'woke' }, looking],
    ['when patience is over, it passes the queue', behind, { type: 'outOfPatience' }, { ...looking, passed: 'queue' }],
    ['when the heir has gone, its time is over', forHeir, { type: 'woke' }, { ...looking, passed: { heirOf: 4n } }],
    ["when the heir's time is over, it is passed over", forHeir, { type: 'outOfPatience' }, { ...looking, passed: { heirOf: 4n } }],
    ['marked, it looks whether it is elected', behind, { type: 'marked', entry: marked(me, 4n) }, { ...confirming, entry: marked(me, 4n) }],
    [
      'changed and not marked, it goes on with the new entry',
      behind,
      { type: 'marked', entry: touched(me) },
      { ...looking, entry: touched(me) },
    ],
    ['a watch that cannot go on is begun again', behind, refused, pausing(looking)],
    ['stopped, it removes its entry', behind, stop, withdraw()],
    ['a fatal error removes its entry', behind, fatal, withdraw({ exit: failedExit })],
    ['removed, it looks whether a handover elected it', behind, gone, confirmGone(removedExit)],
    ['removed in doubt, it looks whether it was elected before', { ...behind, doubt: true }, gone, confirmGone(removedExit)],
  ]);
});

describe('claiming', () => {
  const doubtful = { ...claiming, doubt: true };
  const toLeader = wait({ for: 'leader', key: keys.leader });
  table([
    ['swapped, it is elected', claiming, swapped, elected],
    ['swapped by a store that tells no revisions, it reads them', claiming, { type: 'swapped', revisions: [] }, confirming],
    ['an unknown outcome is looked into', claiming, unknown, pausing(confirming)],
    ['a claim that certainly did not happen is followed by another look', claiming, refused, pausing(looking)],
    ['and an older doubt stays', doubtful, refused, pausing({ ...looking, doubt: true })],
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
      wait({ for: 'ahead', key: other.key, position: 0 }),
    ],
    ['refused by a newer term, it looks again', claiming, notSwapped([1, termOf(5n, late)]), looking],
    ['refused by one of those ahead, who has moved, it looks again', claiming, notSwapped([4, touched(late)]), looking],
    [
      'refused because its entry has changed, it looks why',
      claiming,
      notSwapped([2, marked(me, 4n)]),
      { ...confirming, entry: marked(me, 4n) },
    ],
    [
      'refused because its entry is gone, it looks whether a handover elected it',
      claiming,
      notSwapped([2, undefined]),
      confirmGone(removedExit),
    ],
    ['and whether an earlier claim did', doubtful, notSwapped([2, undefined]), confirmGone(removedExit)],
    ['stopped before it was sent, it removes its entry', claiming, stop, withdraw()],
    ['stopped with an older claim in doubt, it will look', doubtful, stop, withdraw({ doubt: true })],
    ['a fatal error leaves a doubt', claiming, fatal, withdraw({ exit: failedExit, doubt: true })],
  ]);
});

describe('confirming', () => {
  const [mine, theirs] = [termOf(5n, me), termOf(5n, other)];
  const record = leaderOf(5n, me);
  const won: CandidateState = {
    phase: 'elected',
    won: { term: 5n, entry: me, leaderRevision: record.revision, termRevision: mine.revision },
  };
  const leaving = { ...confirming, exit: stopped };
  table([
    ['its record and its term: it is elected', confirming, read(mine, record), won],
    ['elected although it wants to leave: its holder resigns', leaving, read(mine, record), won],
    [
      'elected although its entry is gone: what is left of that must go',
      { ...leaving, gone: true },
      read(mine, record),
      { phase: 'out', exit: orphaned },
    ],
    [
      'its record, and a term that was read before: it reads again, after a while',
      confirming,
      read(theirs, record),
      pausing({ ...confirming, seen: true }),
    ],
    ['and does not forget that it leaves', leaving, read(theirs, record), pausing({ ...leaving, seen: true })],
    [
      'its record, and still not the term: it gives both up',
      { ...confirming, seen: true },
      read(theirs, record),
      withdraw({ doubt: true, exit: removedExit }),
    ],
    ['even if the term was read before', { ...confirming, gone: true }, read(theirs, record), { phase: 'out', exit: orphaned }],
    ['not elected, it looks again, in doubt', confirming, read(theirs), { ...looking, doubt: true }],
    ['not elected where nothing is there, it looks again', confirming, read(), { ...looking, doubt: true }],
    ['not elected, and leaving: it removes its entry', leaving, read(theirs, leaderOf(5n, other)), withdraw({ doubt: true })],
    ['not elected, and its entry gone: it is out', confirmGone(stopped), read(theirs), out],
    ['not elected, and its entry taken away: it is out', { ...confirming, gone: true }, read(theirs), { phase: 'out', exit: removedExit }],
    [
      'named as the heir, it claims, and an earlier claim stays in doubt',
      confirming,
      read(termOf(4n, other, heir(me))),
      { ...claim(5n, termOf(4n, other, heir(me))), doubt: true },
    ],
    ['named as the heir, and leaving: it removes its entry', leaving, read(termOf(4n, other, heir(me))), withdraw({ doubt: true })],
    [
      'its term, and no record any more: its entry bars every claim, and goes',
      confirming,
      read(mine),
      withdraw({ doubt: true, exit: removedExit }),
    ],
    ['a read that failed is made again', confirming, unknown, pausing(confirming)],
    ['a newer mark is taken in', confirming, { type: 'marked', entry: marked(me, 4n) }, { ...confirming, entry: marked(me, 4n) }],
    ['stopped, it still looks first', confirming, stop, leaving],
    ['stopped with its entry gone, it looks first', confirmGone(removedExit), stop, confirmGone(removedExit)],
    ['removed, it looks first', confirming, gone, confirmGone(removedExit)],
    ['removed while it leaves, it leaves', leaving, gone, confirmGone(stopped)],
    ['a fatal error ends it', confirming, fatal, { phase: 'out', exit: failedExit }],
  ]);
});

describe('withdrawing', () => {
  const searching = withdraw({ entry: undefined });
  table([
    ['its entry deleted, it is out', withdrawing, swapped, out],
    [
      'its entry deleted with a claim in doubt, it looks whether that was applied',
      withdraw({ doubt: true }),
      swapped,
      confirmGone(stopped),
    ],
    ['its entry found, it may have been made an heir by then', searching, { type: 'enqueued', entry: me }, withdraw({ doubt: true })],
    ['its entry gone already, it looks whether it was elected', withdrawing, notSwapped([0, undefined]), confirmGone(stopped)],
    ['its entry changed, it deletes what is there', withdrawing, notSwapped([0, touched(me)]), withdraw({ entry: touched(me) })],
    [
      'its entry marked, it may be the leader',
      withdrawing,
      notSwapped([0, marked(me, 4n)]),
      { phase: 'confirming', entry: marked(me, 4n), exit: stopped },
    ],
    ['a try that failed is made again', withdrawing, unknown, pausing(withdrawing)],
    ['a search that failed is made again', searching, refused, pausing(searching)],
    ['removed, it looks whether it was elected', withdrawing, gone, confirmGone(stopped)],
    ['stopped after an error, it is stopped', withdraw({ exit: failedExit }), stop, withdrawing],
    ['a fatal error ends it', withdrawing, fatal, { phase: 'out', exit: failedExit }],
  ]);
});

describe('pausing', () => {
  table([
    ['ends with what was to be done', pausing(looking), paused, looking],
    ['is for nothing else', pausing(looking), swapped, pausing(looking)],
    ['stopped, it does at once what the stop asks for', pausing({ ...joining, doubt: true }), stop, withdraw({ entry: undefined })],
    ['removed, it does at once what that asks for', pausing({ ...looking, doubt: true }), gone, confirmGone(removedExit)],
    ['a fatal error ends what was paused', pausing(looking), fatal, withdraw({ exit: failedExit })],
  ]);
});

describe('a candidacy that is over', () => {
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
    { type: 'enqueued', entry: me },
  ] as const;
  it.each(events.map((event) => [event.type, event] as const))('stays so: %s', (_, event) => {
    expect(next(elected, event, rules)).toBe(elected);
    expect(next(out, event, rules)).toBe(out);
  });
});

describe('an event that does not belong to a phase', () => {
  const states: readonly CandidateState[] = [joining, looking, behind, claiming, confirming, withdrawing];
  it.each(states.map((state) => [state.phase, state] as const))('changes nothing while %s', (_, state) => {
    expect(next(state, paused, rules)).toBe(state);
    if (state.phase !== 'waiting') expect(next(state, { type: 'outOfPatience' }, rules)).toBe(state);
  });
});

function heir(entry: Entry): { reason: string; heir: string } {
  return { reason: 'handover', heir: entry.key };
}

function wait(what: In<'waiting'>['wait']): CandidateState {
  return { phase: 'waiting', entry: me, doubt: false, wait: what };
}

function claim(term: bigint, termEntry: Entry | undefined, evict: readonly Entry[] = []): In<'claiming'> {
  const record = termEntry === undefined ? undefined : readTerm(termEntry);
  const holder = record?.ended === undefined ? record?.entry : undefined;
  return {
    phase: 'claiming',
    entry: me,
    doubt: false,
    claim: { term, termEntry: termEntry && expect.objectContaining({ value: termEntry.value }), holder, evict },
  };
}

function renamed<E extends Entry>(entry: E, name: string): E {
  return { ...entry, name, key: `${keys.candidates}/${name}` };
}
