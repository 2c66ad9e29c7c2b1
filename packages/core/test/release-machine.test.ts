import { describe, expect, it } from 'vitest';
import { advance, isLoss, type LeadershipEndReason, sweep, type Tenure, type TenureEvent } from '../src/leadership/release-machine.ts';
import type { Heir } from '../src/protocol/succession.ts';
import { queued } from './support/candidates.ts';

const heir: Heir = { entry: queued('heir', 2), memberId: 'heir', incarnation: 'i', first: true };
const later: Heir = { ...heir, entry: queued('heir', 2) };
const leading: Tenure = { phase: 'leading' };
const draining: Tenure = { phase: 'draining', heir: undefined, reason: 'resigned' };
const drainingForHeir: Tenure = { phase: 'draining', heir, reason: 'handover' };
const handingOver: Tenure = { phase: 'handingOver', heir, tries: 1 };
const checking: Tenure = { phase: 'checking', heir, tries: 1 };
const releasing: Tenure = { phase: 'releasing', reason: 'resigned', remains: undefined, failedHeir: false };
const resigning: Tenure = { phase: 'releasing', reason: 'handoverFailed', remains: undefined, failedHeir: true };
const remains = { leader: undefined, term: undefined, entry: queued('me', 1) };
const deleting: Tenure = { phase: 'releasing', reason: 'resigned', remains, failedHeir: false };
const released: Tenure = { phase: 'released', failedHeir: false, left: false };
const failed: Tenure = { phase: 'released', failedHeir: true, left: false };

const end: TenureEvent = { type: 'end', reason: 'leaseExpired' };
const drained: TenureEvent = { type: 'drained' };
const swapped: TenureEvent = { type: 'swapped' };
const notSwapped: TenureEvent = { type: 'notSwapped' };
const unknown: TenureEvent = { type: 'failed', unknown: true };
const known: TenureEvent = { type: 'failed', unknown: false };
const refused: TenureEvent = { type: 'refused' };
const leaseOver: TenureEvent = { type: 'leaseOver' };
const read: TenureEvent = { type: 'remains', remains };

function checked(heirHasIt: boolean, again?: Heir): TenureEvent {
  return { type: 'checked', heirHasIt, heir: again };
}

const rows: readonly (readonly [claim: string, from: Tenure, event: TenureEvent, then: Tenure])[] = [
  ['leading, it ends with a reason, and drains', leading, end, { phase: 'draining', heir: undefined, reason: 'leaseExpired' }],
  ['leading, it ends for an heir, and drains', leading, { type: 'end', reason: 'handover', heir }, drainingForHeir],
  ['drained, it releases what is left', draining, drained, releasing],
  ['drained for an heir, it hands over', drainingForHeir, drained, handingOver],
  ['handed over, it is released', handingOver, swapped, released],
  ['a handover that did not happen: it reads why', handingOver, notSwapped, checking],
  ['a handover of which nobody knows: it reads', handingOver, unknown, checking],
  ['a handover that was not sent is tried again', handingOver, known, handingOver],
  ['a handover that the store refuses is a resignation', handingOver, refused, resigning],
  ['a handover after the lease has failed', handingOver, leaseOver, failed],
  ['the heir has it: released', checking, checked(true), released],
  [
    'the heir is there still: once more, on what was read',
    checking,
    checked(false, later),
    { phase: 'handingOver', heir: later, tries: 2 },
  ],
  ['the heir has gone: a resignation', checking, checked(false), resigning],
  ['after five tries: a resignation', { phase: 'checking', heir, tries: 5 }, checked(false, later), resigning],
  ['a read that failed is made again', checking, unknown, checking],
  ['a read that the store refuses: a resignation', checking, refused, resigning],
  ['a read after the lease: the handover has failed', checking, leaseOver, failed],
  ['it reads what is left', releasing, read, deleting],
  ['it deletes what is left', deleting, swapped, released],
  ['what has changed meanwhile is read again', deleting, notSwapped, releasing],
  ['what may have been deleted is read again', deleting, unknown, releasing],
  ['what certainly was not is read again, too', deleting, known, releasing],
  ['what the store refuses is left', deleting, refused, { phase: 'released', failedHeir: false, left: true }],
  ['what the lease has taken is gone', deleting, leaseOver, released],
  ['a failed handover is remembered to the end', resigning, leaseOver, failed],
];

it.each(rows)('%s', (_, from, event, then) => {
  expect(advance(from, event)).toEqual(then);
});

describe('whatever happens', () => {
  const states = [leading, draining, drainingForHeir, handingOver, checking, releasing, deleting, released];
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
  ];

  it('there is one end, with the first reason', () => {
    for (const from of states.filter(({ phase }) => phase !== 'leading'))
      expect(advance(from, { type: 'end', reason: 'clockJump' })).toBe(from);
  });

  it('nothing is released, or handed over, before it has drained', () => {
    for (const from of [leading, draining, drainingForHeir]) {
      for (const event of events.filter(({ type }) => type !== 'drained' && type !== 'end')) expect(advance(from, event)).toBe(from);
    }
    expect(advance(leading, drained)).toBe(leading);
  });

  it('released is released', () => {
    for (const event of events) expect(advance(released, event)).toBe(released);
  });

  it('every state but the first three is left by the end of the lease', () => {
    for (const from of [handingOver, checking, releasing, deleting]) expect(advance(from, leaseOver).phase).toBe('released');
  });
});

it('a sweep releases without a word about an heir', () => {
  expect(advance(sweep, swapped)).toEqual(released);
});

it('an end is a loss unless it was decided', () => {
  const decided: readonly LeadershipEndReason[] = ['resigned', 'handover', 'memberClosed'];
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
