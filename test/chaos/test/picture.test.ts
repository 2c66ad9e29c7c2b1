import { expect, it } from 'vitest';
import type { ChaosEvent } from '../history.ts';
import { pictureOf } from '../picture/picture.ts';
import { goodHistory } from './histories.ts';

function count(svg: string, kind: string): number {
  return svg.split(`class="${kind}"`).length - 1;
}

const LEGEND = 1;

it('a picture has a bar for each term, a box for each fault, and a mark for each write that was refused', () => {
  const svg = pictureOf(goodHistory());
  expect([count(svg, 't1'), count(svg, 't2')]).toEqual([1, 1]);
  expect([count(svg, 'fault'), count(svg, 'refused'), count(svg, 'guard')]).toEqual([1 + LEGEND, 1 + LEGEND, 1 + LEGEND]);
  expect(svg).toContain('>SIGSTOP<');
  expect(svg).toContain('>all healed<');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});

it('a rolling restart is drawn in the lane of each server, and what holds markup is text', () => {
  const rolled: readonly ChaosEvent[] = [
    ...goodHistory().map((event) => (event.type === 'run' ? { ...event, servers: ['s1', 's2', 's3'], version: '<3.5> & "newer"' } : event)),
    { type: 'fault', at: 2_000, id: 9, fault: 'rollServers', target: 'servers', what: 'begins' },
    { type: 'fault', at: 5_000, id: 9, fault: 'rollServers', target: 'servers', what: 'ends' },
  ];
  const svg = pictureOf(rolled);
  expect(count(svg, 'fault')).toBe(1 + 3 + LEGEND);
  expect(svg).toContain('(&lt;3.5> &amp; &quot;newer&quot;)');
});

it('of a long run the storm with the most leaders is shown, with the calm after it', () => {
  const later = goodHistory().flatMap((event) => (event.type === 'phase' ? [{ ...event, at: event.at + 200_000 }] : []));
  const once: readonly ChaosEvent[] = [...goodHistory(), ...later];
  expect(pictureOf(once)).toContain('>10 s<');
  const valid = [9n, 10n, 11n].map((term) => ({ type: 'valid', from: 210_000, at: 211_000, who: 'm1#1', term }) as const);
  const busier: readonly ChaosEvent[] = [...once, ...valid];
  expect(pictureOf(busier)).toContain('>210 s<');
  expect(pictureOf(busier)).not.toContain('>10 s<');
});
