import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { closing } from '../demo/closing.ts';
import type { History } from '../demo/history.ts';
import { judge } from '../demo/verdict.ts';
import { acting, kept } from './histories.ts';

function shown(history: History): readonly string[] {
  return closing(history, judge(history)).map(stripVTControlCharacters);
}

describe('the end of the demo', () => {
  it('fits a terminal of 80 columns', () => {
    expect(shown(kept).filter((line) => line.length > 80)).toEqual([]);
  });

  it('has a row for each act: who is the controller then, the term, the vacancy, and what it meant for partitions', () => {
    expect(shown(kept)).toEqual(
      expect.arrayContaining([
        '  start                    broker-1      1         –   –',
        '  SIGKILL                  broker-2      2     20 ms   1, at most 50 ms each',
        '  paused, before a write   broker-3      3  2,000 ms   1, at most 2,100 ms each',
        '  handover by name         broker-2      4     10 ms   none',
        '  messages acknowledged    2',
        '  messages lost            0',
        '  messages sent twice      1',
        '  stale writes refused     1: 1 by the store, 0 by brokers, 0 by replicas',
        '  Every promise held.',
      ]),
    );
  });

  it('shows who was the controller when, and never two in one column', () => {
    const lanes = shown(kept).slice(1, 4);
    expect(lanes[0]).toMatch(/^ {2}broker-1 {2}·+━+×·+$/);
    expect(lanes[1]).toMatch(/^ {2}broker-2 {2}·+━+‖+·+━+·+$/);
    expect(lanes[2]).toMatch(/^ {2}broker-3 {2}·+━+·+$/);
    const columns = Array.from({ length: 80 }, (_, column) => lanes.filter((lane) => lane[column] === '━').length);
    expect(Math.max(...columns)).toBe(1);
  });

  it('names a promise that was broken, and how', () => {
    const lines = shown({ ...kept, messages: { acknowledged: ['a', 'x'], read: ['a'] } });
    expect(lines).toContain('  messages lost            1');
    expect(lines).toContain('    1 were lost: x');
    expect(lines).toContain('  Promises broken: 1.');
  });

  it('shows a story that ended early', () => {
    const lines = shown(acting('SIGKILL', { next: undefined, vacancyMs: 9_500 }));
    expect(lines.find((line) => line.startsWith('  SIGKILL'))).toMatch(/^ {2}SIGKILL +nobody +9,500 ms {3}1, at most 50 ms each$/);
  });
});
