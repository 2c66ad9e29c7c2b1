import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { closing } from '../closing.ts';
import type { History } from '../history.ts';
import { judge } from '../verdict.ts';
import { acting, kept, telling, told } from './histories.ts';

function shown(history: History): readonly string[] {
  return closing(history, judge(history)).map(stripVTControlCharacters);
}

describe('the end of the demo', () => {
  it('fits a terminal of 80 columns', () => {
    expect(shown(kept).filter((line) => line.length > 80)).toEqual([]);
  });

  it('has a row for each act, with who led, the term, the vacancy and what it has proven', () => {
    expect(shown(kept)).toEqual(
      expect.arrayContaining([
        '  start             alice              1         –  one of three leads',
        '  SIGKILL           alice → bob        2  2,000 ms  the next one leads',
        '  SIGSTOP           bob → carol        3  3,000 ms  the late write is refused',
        '  handover by name  carol → bob        4     10 ms  the one named leads',
        '  SIGTERM           bob → alice        5     10 ms  no lease had to expire',
        '  Every promise held.',
      ]),
    );
  });

  it('shows who led when, and never two in one column', () => {
    const lanes = shown(kept).slice(1, 4);
    expect(lanes[0]).toMatch(/^ {2}alice {2}··━+×·+━+$/);
    expect(lanes[1]).toMatch(/^ {2}bob {4}·+━+‖+·+━+·+$/);
    expect(lanes[2]).toMatch(/^ {2}carol {2}·+━+·+$/);
    const columns = Array.from({ length: 80 }, (_, column) => lanes.filter((lane) => lane[column] === '━').length);
    expect(Math.max(...columns)).toBe(1);
  });

  it('names a promise that was broken, and how, and claims nothing for its act', () => {
    const lines = shown(telling(...told('bob', { type: 'wroteLate', term: 2n, at: 7_500, valid: false, refused: false })));
    expect(lines).toContain("    the store took bob's late write with term 2");
    expect(lines).toContain('  Promises broken: 1.');
    expect(lines).toContain('  SIGSTOP           bob → carol        3  3,000 ms  nothing: see below');
  });

  it('shows a story that ended early', () => {
    const lines = shown({ ...acting('SIGKILL', { next: undefined, vacancyMs: 9_500 }), lives: [], told: [] });
    expect(lines).toContain('  SIGKILL           alice → nobody        9,500 ms  nothing: see below');
  });
});
