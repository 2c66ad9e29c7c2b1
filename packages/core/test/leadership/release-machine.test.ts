import { describe, expect, it } from 'vitest';
import {
  transition,
  isLoss,
  isSurelyKept,
  type LeadershipEndReason,
  releaseOrphan,
  type ReleaseState,
  type ReleaseEvent,
} from '../../src/leadership/release-machine.ts';
import type { Successor } from '../../src/protocol/succession.ts';
import { queued } from '../support/candidates.ts';

const successor: Successor = { entry: queued('successor', 2), memberId: 'successor', incarnation: 'i', nobodyAhead: true };
const later: Successor = { ...successor, entry: queued('successor', 2) };
const leading: ReleaseState = { phase: 'leading' };
const chosen = { successor, early: false };
const draining: ReleaseState = { phase: 'draining', chosen: undefined, reason: 'resigned' };
const drainingForSuccessor: ReleaseState = { phase: 'draining', chosen, reason: 'handover' };
const handingOver: ReleaseState = { phase: 'handingOver', reason: 'handover', ...chosen, tries: 1 };
const checking: ReleaseState = { phase: 'checking', reason: 'handover', ...chosen, tries: 1 };
const early: ReleaseState = { phase: 'handingOver', reason: 'resigned', successor, early: true, tries: 1 };
const earlyChecking: ReleaseState = { ...early, phase: 'checking' };
const looking: ReleaseState = { phase: 'looking', reason: 'resigned' };
const releasing: ReleaseState = { phase: 'releasing', reason: 'resigned', remains: undefined };
const resigning: ReleaseState = { phase: 'releasing', reason: 'handoverFailed', remains: undefined };
const remains = { leader: undefined, termEntry: undefined, entry: queued('me', 1) };
const deleting: ReleaseState = { phase: 'releasing', reason: 'resigned', remains };
const released: ReleaseState = { phase: 'released', handoverFailed: false, left: false };
const failed: ReleaseState = { phase: 'released', handoverFailed: true, left: false };

const end: ReleaseEvent = { type: 'end', reason: 'leaseExpired' };
const drained: ReleaseEvent = { type: 'drained' };
const swapped: ReleaseEvent = { type: 'swapped' };
const notSwapped: ReleaseEvent = { type: 'notSwapped' };
const unknown: ReleaseEvent = { type: 'failed', unknown: true };
const known: ReleaseEvent = { type: 'failed', unknown: false };
const refused: ReleaseEvent = { type: 'refused' };
const leaseOver: ReleaseEvent = { type: 'leaseOver' };
const read: ReleaseEvent = { type: 'remains', remains };

function checked(successorHasTerm: boolean, again?: Successor): ReleaseEvent {
  return { type: 'checked', successorHasTerm, successor: again };
}

function looked(found: Successor | undefined): ReleaseEvent {
  return { type: 'looked', successor: found };
}

const rows: readonly (readonly [claim: string, from: ReleaseState, event: ReleaseEvent, then: ReleaseState])[] = [
  ['leading, it ends with a reason, and drains', leading, end, { phase: 'draining', chosen: undefined, reason: 'leaseExpired' }],
  ['leading, it ends for a successor, and drains', leading, { type: 'end', reason: 'handover', chosen }, drainingForSuccessor],
  ['drained, it releases what is left', draining, drained, releasing],
  ['drained for a successor, it hands over', drainingForSuccessor, drained, handingOver],
  ['handed over, it is released', handingOver, swapped, released],
  ['a handover that did not happen: it reads why', handingOver, notSwapped, checking],
  ['a handover of which nobody knows: it reads', handingOver, unknown, checking],
  ['a handover that was not sent is tried again', handingOver, known, handingOver],
  ['a handover that the store refuses is a resignation', handingOver, refused, resigning],
  ['a handover after the lease has failed', handingOver, leaseOver, failed],
  ['the successor has it: released', checking, checked(true), released],
  [
    'the successor is there still: once more, on what was read',
    checking,
    checked(false, later),
    { phase: 'handingOver', reason: 'handover', successor: later, early: false, tries: 2 },
  ],
  ['the successor has gone: a resignation', checking, checked(false), resigning],
  ['after five tries: a resignation', { ...checking, tries: 5 }, checked(false, later), resigning],
  ['a read that failed is made again', checking, unknown, checking],
  ['a read that the store refuses: a resignation', checking, refused, resigning],
  ['a read after the lease: the handover has failed', checking, leaseOver, failed],
  [
    'drained, with a successor that was found meanwhile, it hands over',
    draining,
    { type: 'drained', successor },
    { ...early, early: false },
  ],
  ['the known successor has left: it looks for another one', early, notSwapped, looking],
  ['the lease of the known successor is gone: it looks for another one', early, refused, looking],
  ['nobody knows whether the known successor has it: it reads', early, unknown, earlyChecking],
  ['the known successor has it: released', earlyChecking, checked(true), released],
  ['it reads that the known successor has left: it looks for another one', earlyChecking, checked(false), looking],
  ['it has found another one: it hands over to that one', looking, looked(later), { ...early, successor: later, early: false }],
  ['it has found nobody: it releases what is left', looking, looked(undefined), releasing],
  ['a handover that has found nobody has failed', { ...looking, reason: 'handover' }, looked(undefined), resigning],
  ['a look that failed is made again', looking, unknown, looking],
  ['a look that the store refuses: it releases what is left', looking, refused, releasing],
  ['a look after the lease: released', looking, leaseOver, released],
  ['it reads what is left', releasing, read, deleting],
  ['it deletes what is left', deleting, swapped, released],
  ['what has changed meanwhile is read again', deleting, notSwapped, releasing],
  ['what may have been deleted is read again', deleting, unknown, releasing],
  ['what certainly was not is read again, too', deleting, known, releasing],
  ['what the store refuses is left', deleting, refused, { phase: 'released', handoverFailed: false, left: true }],
  ['what the lease has taken is gone', deleting, leaseOver, released],
  ['a failed handover is remembered to the end', resigning, leaseOver, failed],
];

it.each(rows)('%s', (_, from, event, then) => {
  expect(transition(from, event)).toEqual(then);
});

describe('whatever happens', () => {
  const states = [
    leading,
    draining,
    drainingForSuccessor,
    handingOver,
    early,
    checking,
    earlyChecking,
    looking,
    releasing,
    deleting,
    released,
  ];
  const events = [
    end,
    drained,
    swapped,
    notSwapped,
    unknown,
    known,
    refused,
    leaseOver,
    read,
    checked(true),
    checked(false),
    checked(false, later),
    looked(undefined),
    looked(later),
  ];

  it('there is one end, with the first reason', () => {
    for (const from of states.filter(({ phase }) => phase !== 'leading'))
      expect(transition(from, { type: 'end', reason: 'clockJump' })).toBe(from);
  });

  it('nothing is released, or handed over, before it has drained', () => {
    for (const from of [leading, draining, drainingForSuccessor]) {
      for (const event of events.filter(({ type }) => type !== 'drained' && type !== 'end')) expect(transition(from, event)).toBe(from);
    }
    expect(transition(leading, drained)).toBe(leading);
  });

  it('a released leadership stays released', () => {
    for (const event of events) expect(transition(released, event)).toBe(released);
  });

  it('every state but the first three is left by the end of the lease', () => {
    for (const from of [handingOver, early, checking, looking, releasing, deleting])
      expect(transition(from, leaseOver).phase).toBe('released');
  });
});

it('the release of an orphan never looks for a successor', () => {
  expect(transition(releaseOrphan, swapped)).toEqual(released);
});

it('an end is a loss unless it was decided', () => {
  const decided: readonly LeadershipEndReason[] = ['resigned', 'handover', 'steppedDown', 'memberClosed'];
  const lost: readonly LeadershipEndReason[] = [
    'deadline',
    'leaseExpired',
    'clockJump',
    'replaced',
    'recordDeleted',
    'recordReplaced',
    'entryDeleted',
    'termBehind',
  ];
  expect(decided.filter(isLoss)).toEqual([]);
  expect(lost.filter((reason) => !isLoss(reason))).toEqual([]);
});

it('the lease is surely there at an end unless the store has ended it, or time has passed unnoticed', () => {
  const ends: readonly LeadershipEndReason[] = [
    'deadline',
    'replaced',
    'memberClosed',
    'resigned',
    'handover',
    'steppedDown',
    'recordDeleted',
    'termBehind',
  ];
  const perhapsGone: readonly LeadershipEndReason[] = ['leaseExpired', 'clockJump'];
  expect(ends.filter((reason) => !isSurelyKept(reason))).toEqual([]);
  expect(perhapsGone.filter(isSurelyKept)).toEqual([]);
});
