import { describe, expect, it } from 'vitest';
import type { History } from '../history.ts';
import { hasProven, judge } from '../verdict.ts';
import { acting, acts, kept, late, leadership, lives, silent, telling, told } from './histories.ts';

/** Each promise that is broken, by a word of it, with how. */
function brokenIn(history: History): readonly string[] {
  return judge(history).flatMap(({ broken }) => [...broken]);
}

function promisesBrokenIn(history: History): number {
  return judge(history).filter(({ broken }) => broken.length > 0).length;
}

describe('a history in which every promise was kept', () => {
  it('is judged so', () => {
    expect(brokenIn(kept)).toEqual([]);
    expect(acts.every((act) => hasProven(kept, act))).toBe(true);
  });

  it('is judged so whatever the order in which the processes were heard', () => {
    expect(brokenIn({ ...kept, told: kept.told.toSorted((a, b) => a.member.localeCompare(b.member)) })).toEqual([]);
  });

  it('counts each leadership once, however often it told', () => {
    expect(judge(kept)[0]?.promise).toContain('(asked 100 times)');
  });
});

describe('a planted violation is found, and nothing else', () => {
  it.each<[string, History, readonly string[]]>([
    [
      'two believe at the same time',
      telling(...told('alice', { type: 'believed', term: 1n, from: 301, to: 3_004.5, asked: 200 })),
      ['alice (term 1) and bob (term 2) both believed that they lead, for 3.5 ms'],
    ],
    [
      'two believe for one instant',
      telling(...told('alice', { type: 'believed', term: 1n, from: 301, to: 3_001, asked: 200 })),
      ['alice (term 1) and bob (term 2) both believed that they lead, for 0.0 ms'],
    ],
    [
      'a belief lies within another',
      telling(...told('carol', { type: 'believed', term: 9n, from: 500, to: 600, asked: 2 })),
      ['alice (term 1) and carol (term 9) both believed that they lead, for 100.0 ms'],
    ],
    [
      'two processes of one member believe at the same time',
      telling(...told('alice', { type: 'believed', term: 1n, from: 302, to: 900, asked: 2 })),
      ['alice (term 1) and alice (term 1) both believed that they lead, for 598.0 ms'],
    ],
    [
      'a leader that was never asked',
      silent(({ member, event }) => member === 'carol' && event.type === 'believed'),
      ['carol never said what it believed in term 3'],
    ],
    [
      'a term that is issued twice',
      telling(...leadership('carol', 5n, 11_000, 12_000)),
      ['carol began term 5 after alice had begun term 5'],
    ],
    [
      'a late write that the store takes',
      telling(...told('bob', { ...late, refused: false })),
      ["the store took bob's late write with term 2"],
    ],
    [
      'a woken process that says at once that it leads',
      telling(...told('bob', { ...late, valid: true })),
      ['bob still believed in term 2 after it woke'],
    ],
    ['a late write that was never tried', silent(({ event }) => event.type === 'wroteLate'), ['it never tried its late write']],
    ['an heir that is not the one named', acting('handover', { next: { member: 'alice', term: 4n } }), ['bob was named, and alice led']],
    ['no handover', { ...kept, acts: acts.filter(({ name }) => name !== 'handover') }, ['there was no handover']],
    [
      'a vacancy above its limit',
      acting('SIGTERM', { vacancyMs: 3_001 }),
      ['after bob (SIGTERM), nobody led for 3.00 s, above the limit of 3.00 s'],
    ],
    [
      'a vacancy that does not end',
      acting('SIGKILL', { next: undefined, vacancyMs: 9_500 }),
      ['after alice (SIGKILL), nobody led for 9.50 s'],
    ],
    [
      'a leader that begins before the one before has ended',
      acting('SIGTERM', { vacancyMs: -5 }),
      ['after bob (SIGTERM), alice began 0.01 s too early'],
    ],
    ['nobody leads at the start', acting('start', { next: undefined, vacancyMs: 15_000 }), ['at the start, nobody led for 15.00 s']],
    [
      'an order number that is given twice',
      telling(...told('bob', { type: 'numbered', term: 2n, order: 3_000 })),
      ['number 3000 was given by bob and by bob'],
    ],
    [
      'a stale leader that gives a number after a newer one',
      telling(...told('bob', { type: 'numbered', term: 2n, order: 7_001 })),
      ['bob gave number 7001 with term 2, after one with term 3'],
    ],
    ['a job that never did anything', silent(({ event }) => event.type === 'numbered'), ['no order ever got one']],
    [
      'a process that fails as it ends',
      { ...kept, lives: [...lives, { member: 'bob', from: 0, due: 'exit code 0', end: { at: 9_000, how: 'exit code 1' } }] },
      ['bob ended with exit code 1 instead of exit code 0'],
    ],
    [
      'a process that does not end',
      { ...kept, lives: [...lives, { member: 'bob', from: 0, due: 'exit code 0', end: undefined }] },
      ['bob did not end'],
    ],
    [
      'a process that ends by itself',
      { ...kept, lives: [...lives, { member: 'bob', from: 0, due: undefined, end: { at: 9_000, how: 'SIGSEGV' } }] },
      ['bob ended by itself: SIGSEGV'],
    ],
    ['a key that stays', { ...kept, leftovers: ['members/bob'] }, ['members/bob was left in the store']],
  ])('%s', (_name, history, broken) => {
    expect(brokenIn(history)).toEqual(broken);
    expect(promisesBrokenIn(history)).toBe(1);
  });

  it('a woken process that believes on: by its next word, and beside the one that leads', () => {
    const history = telling(...told('bob', { type: 'believed', term: 2n, from: 3_001, to: 7_501, asked: 300 }));
    expect(brokenIn(history)).toEqual([
      'bob (term 2) and carol (term 3) both believed that they lead, for 500.0 ms',
      'bob still believed in term 2 after it woke',
    ]);
  });

  it('a process that never led anything', () => {
    expect(brokenIn({ ...kept, told: [] })).toEqual(['nobody ever led', 'it never tried its late write', 'no order ever got one']);
  });
});

describe('an act has proven nothing', () => {
  it.each<[string, History, readonly string[]]>([
    ['where the next leader came too late', acting('SIGKILL', { vacancyMs: 9_501 }), ['SIGKILL']],
    ['where the late write was taken', telling(...told('bob', { ...late, refused: false })), ['SIGSTOP']],
    ['where another than the one named leads', acting('handover', { next: { member: 'alice', term: 4n } }), ['handover']],
  ])('%s', (_name, history, names) => {
    expect(history.acts.filter((act) => !hasProven(history, act)).map(({ name }) => name)).toEqual(names);
  });
});
