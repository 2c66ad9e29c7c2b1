/** A history that keeps every promise, and functions that change it. */

import type { BrokerEvent } from '../events.ts';
import type { Act, ValidSpan, Heard, History, BrokerRun } from '../demo/history.ts';

/** The events of a broker. */
export function told(broker: string, ...events: readonly BrokerEvent[]): readonly Heard[] {
  return events.map((event) => ({ broker, event }));
}

export function validSpan(broker: string, term: bigint, from: number, to: number): ValidSpan {
  return { broker, term, from, to, asked: 20 };
}

const start: Act = {
  name: 'start',
  from: undefined,
  named: undefined,
  next: { broker: 'broker-1', term: 1n },
  vacancyMs: 0,
  limitMs: 8_000,
  begun: 0,
  ended: 900,
};

export const acts: readonly Act[] = [
  start,
  { ...start, name: 'SIGKILL', from: 'broker-1', next: { broker: 'broker-2', term: 2n }, vacancyMs: 20, begun: 900, ended: 2_000 },
  {
    ...start,
    name: 'paused, before a write',
    from: 'broker-2',
    next: { broker: 'broker-3', term: 3n },
    vacancyMs: 2_000,
    begun: 2_000,
    ended: 6_000,
  },
  {
    ...start,
    name: 'handover by name',
    from: 'broker-3',
    named: 'broker-2',
    next: { broker: 'broker-2', term: 4n },
    vacancyMs: 10,
    begun: 6_000,
    ended: 8_000,
  },
];

export const lives: readonly BrokerRun[] = [
  { broker: 'broker-1', from: 0, due: 'SIGKILL', end: { at: 1_000, how: 'SIGKILL' } },
  ...['broker-1', 'broker-2', 'broker-3'].map((broker) => ({
    broker,
    from: broker === 'broker-1' ? 1_100 : 0,
    due: 'exit code 0',
    end: { at: 10_000, how: 'exit code 0' },
  })),
];

const refused: Extract<BrokerEvent, { type: 'refused' }> = {
  type: 'refused',
  by: 'store',
  what: 'write',
  from: 'broker-2',
  stale: 2n,
  seen: undefined,
  at: 5_000,
};

export const kept: History = {
  heard: [
    ...told('broker-1', { type: 'elected', term: 1n, at: 300 }, { type: 'leads', partition: 't-0', epoch: 1, at: 400 }),
    ...told('broker-2', { type: 'elected', term: 2n, at: 1_020 }, { type: 'leads', partition: 't-0', epoch: 2, at: 1_050 }),
    ...told('broker-2', { type: 'stopping', before: 'write', term: 2n, at: 2_500 }),
    ...told('broker-3', { type: 'elected', term: 3n, at: 4_500 }, { type: 'leads', partition: 't-0', epoch: 3, at: 4_600 }),
    ...told(
      'broker-2',
      refused,
      { type: 'ended', term: 2n, reason: 'deadline', at: 5_010 },
      { type: 'follows', partition: 't-0', epoch: 2, at: 5_020 },
    ),
    ...told('broker-3', { type: 'ended', term: 3n, reason: 'handover', at: 7_000 }),
    ...told('broker-2', { type: 'elected', term: 4n, at: 7_010 }),
  ],
  validSpans: [
    validSpan('broker-1', 1n, 301, 999),
    validSpan('broker-2', 2n, 1_021, 2_490),
    validSpan('broker-3', 3n, 4_501, 6_999),
    validSpan('broker-2', 4n, 7_011, 9_000),
  ],
  acts,
  lives,
  pauses: [{ broker: 'broker-2', from: 2_500, to: 4_990 }],
  messages: { acknowledged: ['a', 'b'], read: ['a', 'b', 'b', 'c'] },
  effects: [],
  leftovers: [],
};

export function telling(...more: readonly Heard[]): History {
  return { ...kept, heard: [...kept.heard, ...more] };
}

/** The history without the events that match `unwanted`. */
export function silent(unwanted: (one: Heard) => boolean): History {
  return { ...kept, heard: kept.heard.filter((one) => !unwanted(one)) };
}

/** The history with one act changed. */
export function acting(name: Act['name'], changes: Partial<Act>): History {
  return { ...kept, acts: acts.map((act) => (act.name === name ? { ...act, ...changes } : act)) };
}
