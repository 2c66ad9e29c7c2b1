/**
 * Profiles of documented weaknesses. Where two members may be valid for a while, the run measures
 * and bounds this time. Where a promise cannot be kept, the checkers must find it broken. All other
 * promises still hold.
 */

import type { Fault, FaultKind } from './fault.ts';
import type { Shape } from './plan.ts';
import { drawPlan, type Profile } from './profile.ts';
import { requested } from './safe-profiles.ts';

const never = (): number => 0;

/**
 * How long the watch may take that notifies the deposed leader: the watch lags, and one message in
 * many takes much longer than usual.
 */
function notificationMs({ store }: Shape): number {
  return store.watchLagMs + 24 * store.latency.maxMs + 100;
}

/**
 * What a store loses together with acknowledged writes: a published value, or the reason of an end.
 */
const lost = ['what is published is there', 'observers tell why nobody leads'];

/** What follows when terms are repeated. */
const aftermath = [
  ...lost,
  'whoever leads leads on',
  'who leads has its record',
  'somebody leads in the end',
  'a deleted record ends leadership',
  'a crashed leader is followed',
  'observers agree in the end',
  'observers are told nothing older',
  // The leader of a term is shown after another leader of the same term has ended.
  'observers never go back',
  // The store goes back to an earlier record without another term.
  'only another term replaces a leader',
];

const everyday: readonly FaultKind[] = ['crash', 'pause', 'cut', 'loseReplies', 'leave'];

export const operator: Profile = {
  name: 'operator',
  about: 'somebody revokes live leases, and asks leaders to step down and to hand over',
  plan: (seed) => drawPlan('operator', seed, { kinds: ['endLease', 'leave'], perTtl: 0.7, triggered: 3, requests: 1 / 2 }),
  overlapMs: notificationMs,
  overlaps: true,
  mustBreak: [],
  mustOccur: ['fault: endLease', 'ended: leaseExpired', 'refused: guarded', ...requested],
};

export const earlyEnd: Profile = {
  name: 'earlyEnd',
  about: 'the store itself ends live leases, and says of itself that it may',
  plan: (seed) => {
    const plan = drawPlan('earlyEnd', seed, { kinds: ['endLease', 'failover'], perTtl: 0.7, triggered: 3, reshape: endingEarly });
    return { ...plan, faults: plan.faults.map((fault) => (fault.kind === 'endLease' ? { ...fault, by: 'store' } : fault)) };
  },
  // A watch that broke off with the store's leader works again when the store has a new leader.
  overlapMs: ({ ttlMs }) => ttlMs * 1.02,
  overlaps: true,
  mustBreak: [],
  mustOccur: ['fault: endLease', 'fault: failover', 'logged: this store may end a lease that is being renewed'],
};

function endingEarly(shape: Shape): Shape {
  return { ...shape, store: { ...shape.store, endsEarly: 'it is simulated to' } };
}

export const untold: Profile = {
  name: 'untold',
  about: 'an acknowledged renewal counts from the one before it, and the adapter does not say so',
  plan: (seed) => drawPlan('untold', seed, { kinds: everyday, perTtl: 1.5, triggered: 10, reshape: acknowledgingTooMuch }),
  overlapMs: never,
  mustBreak: ['one valid leader'],
  mustOccur: ['ended: deadline'],
};

function acknowledgingTooMuch(shape: Shape): Shape {
  return { ...shape, store: { ...shape.store, acknowledges: 'previousUndeclared', expiryLateMs: 0 } };
}

export const amnesia: Profile = {
  name: 'amnesia',
  about: 'a failover of the store loses what it had acknowledged',
  plan: (seed) => {
    const plan = drawPlan('amnesia', seed, { kinds: [...everyday, 'failover', 'failover'], perTtl: 1, triggered: 4 });
    const lostMs = plan.shape.ttlMs / 3;
    return { ...plan, faults: plan.faults.map((fault) => (fault.kind === 'failover' ? { ...fault, lostMs } : fault)) };
  },
  overlapMs: never,
  mustBreak: ['one valid leader', 'terms rise', 'stale writes are refused'],
  // A key that its owner deleted is back, under a live lease. A member that campaigns deletes it.
  // For a member that does not, the key stays and blocks others.
  mayBreak: [
    ...lost,
    ...aftermath,
    // Revisions are repeated as well, so a late write of an ended leadership can replace the record
    // of the next one.
    'one end, in order',
    'no member has two entries in the queue',
    'a member holds its id',
    'a member stays in its groups',
    'leadership comes back',
  ],
  mustOccur: ['fault: failover', 'refused: fenced'],
};

export const wiped: Profile = {
  name: 'wiped',
  about: 'the store loses everything, terms included',
  plan: (seed) => drawPlan('wiped', seed, { kinds: ['wipe', ...everyday], perTtl: 0.5, triggered: 2 }),
  overlapMs: never,
  mustBreak: ['one valid leader', 'terms rise', 'stale writes are refused'],
  // A leader can learn from a fence at any time that its term was issued before.
  mayBreak: aftermath,
  mustOccur: ['fault: wipe', 'ended: termBehind', 'refused: fenced'],
};

export const clocks: Profile = {
  name: 'clocks',
  about: 'a wall clock is set back while its machine is suspended',
  plan: (seed) => {
    const plan = drawPlan('clocks', seed, { kinds: ['suspend', 'wallJump', 'crash'], perTtl: 0.5, triggered: 4, anyClocks: true });
    // The clock is set back first, and then the process is suspended, within one renewal. No clock
    // shows how long the process slept.
    const both = plan.faults.flatMap((fault) => (fault.kind === 'suspend' ? [setBack(fault, plan.shape), fault] : [fault]));
    return { ...plan, faults: both };
  },
  overlapMs: never,
  mustBreak: ['one valid leader'],
  mustOccur: ['fault: suspend', 'fault: wallJump'],
};

function setBack({ target, when, durationMs }: Extract<Fault, { kind: 'suspend' }>, { ttlMs }: Shape): Fault {
  return { kind: 'wallJump', target, when, byMs: -Math.max(durationMs, ttlMs) };
}
