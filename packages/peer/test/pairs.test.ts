/** How `pairs.ts` pairs the events of leaderships. */

import { describe, expect, it } from 'vitest';
import { PairLogs } from './pairs.ts';
import { logger } from './support.ts';

describe('the events of a leadership', () => {
  it('are a pair if one elected is followed by one ended, in each process', () => {
    const logs = new PairLogs();
    for (const log of [logs.of('a'), logs.of('a'), logs.of('b')]) {
      log.info({ term: '1' }, 'elected');
      log.warn({ term: '1' }, 'leadership ended');
      log.info({ round: 7 }, 'elected');
      log.info({ round: 7 }, 'leadership ended');
    }
    logs.check();
  });

  it.each([
    ['that begins twice', ['elected', 'elected', 'leadership ended']],
    ['that ends twice', ['elected', 'leadership ended', 'leadership ended']],
    ['that never ends', ['elected']],
    ['that never began', ['leadership ended']],
    ['that ends first', ['leadership ended', 'elected']],
  ])('are not a pair for one %s', (_, messages) => {
    const logs = new PairLogs();
    const log = logs.of('a');
    for (const message of messages) log.info({ term: '1' }, message);
    expect(logs.unpaired).toEqual([`{"term":"1"} of a: ${messages.join(', ')}`]);
    expect(() => logs.check()).toThrow('no pair');
  });

  it('are not a pair across two processes', () => {
    const logs = new PairLogs();
    logs.of('a').info({ term: '1' }, 'elected');
    logs.of('a').warn({ term: '1' }, 'leadership ended');
    expect(logs.unpaired).toHaveLength(2);
  });

  it('reach the logger that the test passed', () => {
    const log = logger();
    new PairLogs().of('a', log).warn({ term: '1' }, 'leadership ended');
    expect(log.lines).toEqual([{ message: 'leadership ended', fields: { term: '1' } }]);
  });
});
