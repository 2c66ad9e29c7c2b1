/** A history that breaks no promise, and functions that change it. */

import type { ChaosEvent, FaultEvent } from '../history.ts';

const header = {
  type: 'run',
  at: 0,
  store: 'etcd',
  version: '3.5.16',
  commit: '0000000',
  seed: 1,
  minutes: 1,
  members: ['m1', 'm2'],
  servers: ['s1'],
  ttlMs: 3_000,
  recoveryMs: 10_000,
  sickMs: 8_000,
  silentMs: 11_000,
} as const;

/**
 * m1 leads and is stopped for longer than its lease, and m2 follows. m1's late writes are rejected.
 * Then all faults are healed, and all members leave.
 */
export function goodHistory(endsEarly?: string): ChaosEvent[] {
  const view = { state: 'leader', term: 2n } as const;
  return [
    { ...header, ...(endsEarly === undefined ? {} : { endsEarly }) },
    { type: 'phase', at: 10, phase: 'storm' },
    { type: 'started', at: 20, who: 'm1#1' },
    { type: 'started', at: 20, who: 'm2#1' },
    { type: 'announced', at: 95, who: 'm1#1', what: 'elected', term: 1n, lease: 'l1' },
    { type: 'elected', at: 100, who: 'm1#1', term: 1n },
    { type: 'renewed', from: 700, at: 710, who: 'm1#1', lease: 'l1', ttlMs: 3_000 },
    { type: 'shown', at: 110, who: 'm2#1', state: 'leader', term: 1n },
    { type: 'valid', from: 101, at: 1_000, who: 'm1#1', term: 1n },
    { type: 'wrote', at: 500, who: 'm1#1', term: 1n, to: 'fenced', accepted: true, highest: 0n },
    { type: 'wrote', at: 500, who: 'm1#1', term: 1n, to: 'unguarded', accepted: true, highest: 0n },
    { type: 'swapped', from: 510, at: 520, who: 'm1#1', term: 1n, n: 1, outcome: 'swapped' },
    { type: 'swapped', from: 610, at: 640, who: 'm1#1', term: 1n, n: 2, outcome: 'swapped' },
    fault('begins', 1_000),
    fault('hit', 1_001),
    { type: 'announced', at: 3_995, who: 'm2#1', what: 'elected', term: 2n, lease: 'l2' },
    { type: 'elected', at: 4_000, who: 'm2#1', term: 2n },
    { type: 'shown', at: 4_010, who: 'm2#1', state: 'leader', term: 2n },
    { type: 'valid', from: 4_001, at: 20_000, who: 'm2#1', term: 2n },
    { type: 'wrote', at: 4_100, who: 'm2#1', term: 2n, to: 'fenced', accepted: true, highest: 1n },
    { type: 'wrote', at: 4_100, who: 'm2#1', term: 2n, to: 'unguarded', accepted: true, highest: 1n },
    { type: 'swapped', from: 4_110, at: 4_120, who: 'm2#1', term: 2n, n: 1, outcome: 'swapped' },
    fault('ends', 6_000),
    { type: 'announced', at: 6_009, who: 'm1#1', what: 'ended', term: 1n },
    { type: 'ended', at: 6_010, who: 'm1#1', term: 1n, reason: 'deadline', lost: true, renewedMsAgo: 5_300, loopBlockedMs: 5_000 },
    { type: 'wrote', at: 6_020, who: 'm1#1', term: 1n, to: 'fenced', accepted: false, highest: 2n },
    { type: 'wrote', at: 6_020, who: 'm1#1', term: 1n, to: 'unguarded', accepted: true, highest: 2n },
    { type: 'swapped', from: 6_030, at: 6_040, who: 'm1#1', term: 1n, n: 3, outcome: 'refused' },
    { type: 'stopped', at: 6_050, who: 'm1#1', term: 1n },
    { type: 'shown', at: 6_060, who: 'm1#1', state: 'leader', term: 2n },
    { type: 'phase', at: 7_000, phase: 'calm' },
    { type: 'phase', at: 12_000, phase: 'asked' },
    { type: 'answered', at: 12_010, who: 'm1#1', view, read: 2n },
    { type: 'answered', at: 12_010, who: 'm2#1', view, read: 2n },
    { type: 'phase', at: 20_000, phase: 'over' },
    { type: 'announced', at: 20_009, who: 'm2#1', what: 'ended', term: 2n },
    { type: 'ended', at: 20_010, who: 'm2#1', term: 2n, reason: 'memberClosed', lost: false, renewedMsAgo: 500, loopBlockedMs: 3 },
    { type: 'closed', at: 20_090, who: 'm1#1' },
    { type: 'closed', at: 20_090, who: 'm2#1' },
    { type: 'died', at: 20_100, who: 'm1#1', wanted: true, output: [] },
    { type: 'died', at: 20_100, who: 'm2#1', wanted: true, output: [] },
    { type: 'kept', at: 20_200, term: 1n, n: 2 },
    { type: 'kept', at: 20_200, term: 2n, n: 1 },
    { type: 'left', at: 20_210, keys: [] },
  ];
}

export function fault(what: FaultEvent['what'], at: number, name = 'pause', target = 'm1'): FaultEvent {
  return { type: 'fault', at, id: name === 'pause' ? 1 : 2, fault: name, target, what };
}

type Kind<T extends ChaosEvent['type']> = Extract<ChaosEvent, { readonly type: T }>;

/** The same history with the nth event of a type changed (from 0; -1 is the last). */
export function withChanged<T extends ChaosEvent['type']>(
  history: readonly ChaosEvent[],
  type: T,
  nth: number,
  change: Partial<Kind<T>>,
): readonly ChaosEvent[] {
  const chosen = history.filter((event) => event.type === type).at(nth);
  if (chosen === undefined) throw new RangeError(`there are not so many of ${type}`);
  return history.map((event) => (event === chosen ? Object.assign({}, event, change) : event));
}

/** The same history without the events of a type, or without the nth of them (from 0). */
export function without(history: readonly ChaosEvent[], type: ChaosEvent['type'], nth?: number): readonly ChaosEvent[] {
  const own = history.filter((event) => event.type === type);
  const gone = new Set(nth === undefined ? own : own.slice(nth, nth + 1));
  return history.filter((event) => !gone.has(event));
}

export function announced(at: number, who: string, what: 'elected' | 'ended', term: bigint): ChaosEvent {
  return { type: 'announced', at, who, what, term };
}
