/** Profiles in which every promise holds, whatever fails. */

import type { FaultKind } from './fault.ts';
import { drawPlan, type Drawing, type Profile } from './profile.ts';

const never = (): number => 0;

/**
 * Everything that a real network, machine and store do, and an operator who deletes keys. A kind
 * that appears twice happens twice as often.
 */
const faults: readonly FaultKind[] = [
  ...(['crash', 'pause', 'wallJump', 'cut', 'loseReplies', 'holdWrites'] as const),
  ...(['crash', 'pause', 'wallJump', 'cut', 'loseReplies', 'holdWrites'] as const),
  ...(['block', 'suspend', 'leave', 'takeOver', 'refuse', 'stall', 'reset', 'slow', 'lossy'] as const),
  ...(['breakWatches', 'failover', 'hungCandidate', 'deleteKey'] as const),
];

const always = [
  'elected',
  'aborted',
  'ended: resigned',
  'ended: handover',
  'released',
  'wrote: guarded',
  'wrote: fenced',
  'wrote: unguarded',
  'calmState: one lease each',
  'calmState: several leases',
];
/** What follows from the requests of an operator. */
export const requested: readonly string[] = [
  'fault: requestStepDown',
  'fault: requestHandover',
  'ended: steppedDown',
  'logged: an operator requests a handover',
];
const met = [
  ...always,
  ...[...new Set(faults), 'stallWatches', 'silenceConnections', 'hangDisk', 'deleteEntry'].map((kind) => `fault: ${kind}`),
  ...requested,
  'watchesSilenced',
  'serverHung',
  'connectionsSilenced',
  'resumed',
  'replaced',
  'refused: guarded',
  'refused: fenced',
  'wrote: unguarded, stale',
  'ended: deadline',
  'ended: clockJump',
  'ended: recordDeleted',
  'ended: entryDeleted',
  'ended: replaced',
  'ended: termBehind',
  'ended: memberClosed',
  'logged: passed over candidates that did not claim',
  'shown: vacant',
  'shown: unknown',
  'observerClosed',
];

/** An operator sends requests to leaders in this part of the worlds. */
const REQUESTS = 1 / 5;

/** No two members are ever valid at once, and no promise breaks. */
const safe = { overlapMs: never, mustBreak: [] };

export const calm: Profile = {
  name: 'calm',
  about: 'nothing goes wrong but what the leaders do themselves',
  plan: (seed) => drawPlan('calm', seed, { kinds: ['leave'], perTtl: 0.1, triggered: 0 }),
  ...safe,
  mustOccur: [...always, 'fault: leave', 'watchesSilenced', 'serverHung', 'connectionsSilenced'],
};

/** A profile in which everything goes wrong. */
function everything(name: Profile['name'], about: string, often: Pick<Drawing, 'perTtl' | 'triggered'>): Profile {
  return {
    name,
    about,
    plan: (seed) => drawPlan(name, seed, { kinds: faults, silences: true, requests: REQUESTS, ...often }),
    ...safe,
    mustOccur: met,
  };
}

export const stormy: Profile = everything('stormy', 'everything goes wrong, at any time', { perTtl: 2, triggered: 0 });

export const adversarial: Profile = everything('adversarial', 'what goes wrong does so when the election has just done something', {
  perTtl: 0.3,
  triggered: 30,
});

/** Includes the lags that were measured with real processes, in ms. */
const REAPER_LAG_MS = [0, 20, 200, 1_000];

export const reaped: Profile = {
  name: 'reaped',
  about: 'every process has a reaper, which ends its leases soon after its death',
  plan: (seed) => {
    const reshape: Drawing['reshape'] = (shape, random) => ({ ...shape, reaperLagMs: random.pick(REAPER_LAG_MS) });
    return drawPlan('reaped', seed, {
      kinds: [...faults, 'crash', 'crash', 'crash', 'pause', 'suspend'],
      perTtl: 1,
      triggered: 15,
      silences: true,
      requests: REQUESTS,
      reshape,
    });
  },
  ...safe,
  mustOccur: [...met, 'record gone: reaper'],
};

export const blocked: Profile = {
  name: 'blocked',
  about: 'every process has a worker that renews its leases while its event loop is blocked, and may itself fail',
  plan: (seed) => {
    // Where an acknowledgement proves only the renewal before, no worker can renew.
    const reshape: Drawing['reshape'] = (shape) => ({ ...shape, renewed: true, store: { ...shape.store, acknowledges: 'renewal' } });
    return drawPlan('blocked', seed, {
      kinds: [...faults, 'block', 'block', 'block', 'block', 'block', 'block'],
      perTtl: 1,
      triggered: 15,
      silences: true,
      requests: REQUESTS,
      reshape,
    });
  },
  ...safe,
  mustOccur: [...met, 'logged: the event loop was blocked past the deadline; the renewer has kept the lease'],
};
