import { describe, expect, it } from 'vitest';
import type { History } from '../demo/history.ts';
import { gapsIn, judge } from '../demo/verdict.ts';
import { acting, acts, validSpan, kept, lives, silent, telling, told } from './histories.ts';

/** How promises are broken. */
function brokenIn(history: History): readonly string[] {
  return judge(history).flatMap(({ broken }) => [...broken]);
}

function promisesBrokenIn(history: History): number {
  return judge(history).filter(({ broken }) => broken.length > 0).length;
}

describe('a history in which every promise was kept', () => {
  it('is judged so', () => {
    expect(brokenIn(kept)).toEqual([]);
  });

  it('is judged so whatever the order in which the processes were heard', () => {
    expect(brokenIn({ ...kept, heard: kept.heard.toSorted((a, b) => (a.broker < b.broker ? -1 : 1)) })).toEqual([]);
  });

  it('tells when a partition had no leader: from the death or the pause of one to the word of the next', () => {
    expect(acts.map((act) => gapsIn(kept, act).map(({ from, to }) => [from, to]))).toEqual([[], [[1_000, 1_050]], [[2_500, 4_600]], []]);
  });
});

describe('a planted violation is found, and nothing else', () => {
  it.each<[string, History, readonly string[]]>([
    [
      'two consider themselves leader at the same time',
      { ...kept, validSpans: [...kept.validSpans, validSpan('broker-1', 1n, 301, 1_024.5)] },
      [
        'broker-1 (term 1) and broker-1 (term 1) were both valid, for 698.0 ms',
        'broker-2 (term 2) and broker-1 (term 1) were both valid, for 3.5 ms',
      ],
    ],
    [
      'two consider themselves leader for one instant',
      { ...kept, validSpans: [...kept.validSpans, validSpan('broker-4', 1n, 7_000, 7_011)] },
      ['broker-2 (term 4) and broker-4 (term 1) were both valid, for 0.0 ms'],
    ],
    [
      'a controller that was never asked',
      { ...kept, validSpans: kept.validSpans.filter(({ broker }) => broker !== 'broker-3') },
      ['broker-3 never said whether it was valid in term 3'],
    ],
    [
      'a term that is issued twice',
      {
        ...telling(...told('broker-3', { type: 'elected', term: 4n, at: 9_500 })),
        validSpans: [...kept.validSpans, validSpan('broker-3', 4n, 9_501, 9_600)],
      },
      ['broker-3 began term 4 after broker-2 had begun term 4'],
    ],
    [
      'a partition with two leaders in one epoch',
      telling(...told('broker-1', { type: 'leads', partition: 't-0', epoch: 3, at: 5_500 })),
      ['t-0 in epoch 3 was led by broker-3 and broker-1'],
    ],
    ['partitions that nobody led', silent(({ event }) => event.type === 'leads'), ['no partition was ever led']],
    [
      'a message that was acknowledged and is gone',
      { ...kept, messages: { acknowledged: ['a', 'b', 'd', 'e'], read: ['a', 'b'] } },
      ['2 were lost: d, e'],
    ],
    ['no load', { ...kept, messages: { acknowledged: [], read: [] } }, ['none was ever acknowledged']],
    [
      'a stale write that nobody refused',
      silent(({ event }) => event.type === 'refused'),
      ['nobody refused the write of broker-2, of term 2'],
    ],
    [
      'a stale request that nobody refused',
      telling(...told('broker-3', { type: 'stopping', before: 'request', term: 3n, at: 6_999 })),
      ['nobody refused the request of broker-3, of term 3'],
    ],
    ['no pause', silent(({ event }) => event.type === 'stopping'), ['no controller was ever paused']],
    [
      'a stale write that had an effect',
      { ...kept, effects: ['kafka/partitions/late-0'] },
      ['kafka/partitions/late-0 is in the store, which a paused controller wrote'],
    ],
    [
      'a successor that is not the one named',
      acting('handover by name', { next: { broker: 'broker-1', term: 4n } }),
      ['broker-2 was named, and broker-1 was elected'],
    ],
    ['no handover', { ...kept, acts: acts.slice(0, 3) }, ['there was no handover']],
    [
      'a vacancy above its limit',
      acting('SIGKILL', { vacancyMs: 8_001 }),
      ['SIGKILL: there was no controller for 8.00 s, above the limit of 8.00 s'],
    ],
    [
      'a vacancy that does not end',
      acting('SIGKILL', { next: undefined, vacancyMs: 9_500 }),
      ['SIGKILL: there was no controller for 9.50 s'],
    ],
    [
      'a partition that has no leader for too long',
      acting('paused, before a write', { limitMs: 2_050 }),
      ['paused, before a write: t-0 had no leader for 2.10 s, above the limit of 2.05 s'],
    ],
    [
      'a process that fails as it ends',
      { ...kept, lives: [...lives, { broker: 'broker-2', from: 9_000, due: 'exit code 0', end: { at: 9_500, how: 'exit code 1' } }] },
      ['broker-2 ended with exit code 1 instead of exit code 0'],
    ],
    [
      'a process that does not end',
      { ...kept, lives: [...lives, { broker: 'broker-2', from: 9_000, due: 'exit code 0', end: undefined }] },
      ['broker-2 did not end'],
    ],
    [
      'a process that ends by itself',
      { ...kept, lives: [...lives, { broker: 'broker-2', from: 9_000, due: undefined, end: { at: 9_500, how: 'SIGSEGV' } }] },
      ['broker-2 ended by itself: SIGSEGV'],
    ],
    ['a key that stays', { ...kept, leftovers: ['members/broker-2'] }, ['members/broker-2 was left in the store']],
  ])('%s', (_name, history, broken) => {
    expect(brokenIn(history)).toEqual(broken);
    expect(promisesBrokenIn(history)).toBe(1);
  });

  it('a cluster in which nothing ever happened', () => {
    expect(brokenIn({ ...kept, heard: [], validSpans: [] })).toEqual([
      'nobody was ever elected',
      'no partition was ever led',
      'no controller was ever paused',
    ]);
  });
});
