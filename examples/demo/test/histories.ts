/** Histories to judge: one in which every promise was kept, and the means to change it. */

import type { Act, History, Life, Told } from '../history.ts';
import type { MemberEvent } from '../messages.ts';

/** Says what a member told. */
export function told(member: string, ...events: readonly MemberEvent[]): readonly Told[] {
  return events.map((event) => ({ member, event }));
}

/** A leadership, told in full: it begins, believes, gives a number to one order, and ends. */
export function leadership(member: string, term: bigint, from: number, to: number): readonly Told[] {
  return told(
    member,
    { type: 'leads', term, at: from },
    { type: 'believed', term, from: from + 1, to: from + 2, asked: 1 },
    { type: 'numbered', term, order: from },
    { type: 'believed', term, from: from + 1, to, asked: 20 },
    { type: 'ended', term, at: to },
  );
}

const start: Act = {
  name: 'start',
  from: undefined,
  named: undefined,
  next: { member: 'alice', term: 1n },
  vacancyMs: 300,
  limitMs: 15_000,
};

export const acts: readonly Act[] = [
  start,
  { ...start, name: 'SIGKILL', from: 'alice', next: { member: 'bob', term: 2n }, vacancyMs: 2_000, limitMs: 9_500 },
  { ...start, name: 'SIGSTOP', from: 'bob', next: { member: 'carol', term: 3n }, vacancyMs: 3_000, limitMs: 9_500 },
  { ...start, name: 'handover', from: 'carol', named: 'bob', next: { member: 'bob', term: 4n }, vacancyMs: 10, limitMs: 3_000 },
  { ...start, name: 'SIGTERM', from: 'bob', next: { member: 'alice', term: 5n }, vacancyMs: 10, limitMs: 3_000 },
];

export const lives: readonly Life[] = [
  { member: 'alice', from: 0, due: 'SIGKILL', end: { at: 1_000, how: 'SIGKILL' } },
  ...['alice', 'bob', 'carol'].map((member) => ({ member, from: 0, due: 'exit code 0', end: { at: 10_000, how: 'exit code 0' } })),
];

export const late: Extract<MemberEvent, { type: 'wroteLate' }> = { type: 'wroteLate', term: 2n, at: 7_500, valid: false, refused: true };

export const kept: History = {
  told: [
    ...leadership('alice', 1n, 300, 1_000),
    ...leadership('bob', 2n, 3_000, 4_000),
    ...told('bob', { type: 'pausing', term: 2n, at: 4_000 }),
    ...leadership('carol', 3n, 7_000, 8_000),
    ...told('bob', late),
    ...leadership('bob', 4n, 8_010, 9_000),
    ...leadership('alice', 5n, 9_010, 10_000),
  ],
  acts,
  lives,
  leftovers: [],
};

export function telling(...more: readonly Told[]): History {
  return { ...kept, told: [...kept.told, ...more] };
}

/** Without what `unwanted` is true of. */
export function silent(unwanted: (one: Told) => boolean): History {
  return { ...kept, told: kept.told.filter((one) => !unwanted(one)) };
}

/** With one act changed. */
export function acting(name: Act['name'], changes: Partial<Act>): History {
  return { ...kept, acts: acts.map((act) => (act.name === name ? { ...act, ...changes } : act)) };
}
