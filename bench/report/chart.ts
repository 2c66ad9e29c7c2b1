/**
 * Charts as SVG, without a library: bars of medians, with a whisker for the middle half. They are
 * legible on light and dark pages.
 */

import type { Bar, Chart } from '../harness/run.ts';
import { number } from '../harness/spread.ts';

const WIDTH = 760;
const LABEL_WIDTH = 210;
const VALUE_WIDTH = 70;
const BAR_HEIGHT = 16;
const STEP = 22;
const GROUP_GAP = 34;
const TOP = 44;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .group { font-weight: 600 }
  .ours { fill: #0969da } .peer { fill: #8c959f } .floor { fill: #d4a72c }
  .whisker { stroke: #24292f; stroke-width: 1.2 }
  .ground { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .ground { fill: #0d1117 } .whisker { stroke: #e6edf3 }
    .ours { fill: #4493f8 } .peer { fill: #6e7681 } .floor { fill: #bb8009 }
  }`;

export function drawn({ title, unit, groups }: Chart): string {
  let y = TOP;
  const parts: string[] = [];
  for (const group of groups) {
    parts.push(`<text class="group" x="16" y="${y + 12}">${escaped(group.title)}</text>`);
    y += STEP;
    // Each store has a scale of its own, because the contestants of one store are compared.
    const most = Math.max(1e-9, ...group.bars.map(({ spread }) => spread.upper));
    for (const bar of group.bars) {
      parts.push(...barOf(bar, y, most, unit));
      y += STEP;
    }
    y += GROUP_GAP - STEP;
  }
  const height = y + 26;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>`,
    `<text class="title" x="16" y="26">${escaped(title)}</text>`,
    ...parts,
    ...legend(height - 12, new Set(groups.flatMap(({ bars }) => bars.map(({ kind }) => kind)))),
    '</svg>',
    '',
  ].join('\n');
}

function barOf({ label, kind, spread }: Bar, y: number, most: number, unit: string): readonly string[] {
  const room = WIDTH - LABEL_WIDTH - VALUE_WIDTH - 32;
  const at = (value: number): number => LABEL_WIDTH + Math.round((10 * value * room) / most) / 10;
  const middle = y + BAR_HEIGHT / 2;
  const end = Math.max(at(spread.median), at(spread.upper));
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${y + 12}" text-anchor="end">${escaped(label)}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${y}" width="${Math.max(1, at(spread.median) - LABEL_WIDTH)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<line class="whisker" x1="${at(spread.lower)}" x2="${at(spread.upper)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${end + 6}" y="${y + 12}">${number(spread.median)} ${unit}</text>`,
  ];
}

function legend(y: number, kinds: ReadonlySet<string>): readonly string[] {
  const words = [
    ['ours', 'Incumbent'],
    ['peer', 'others'],
    ['floor', 'one notification and one swap, without an election'],
  ];
  let x = LABEL_WIDTH;
  return words.flatMap(([kind = '', word = '']) => {
    if (!kinds.has(kind)) return [];
    const parts = [
      `<rect class="${kind}" x="${x}" y="${y - 10}" width="10" height="10" rx="2"/>`,
      `<text x="${x + 15}" y="${y - 1}">${word}</text>`,
    ];
    x += 30 + 7 * word.length;
    return parts;
  });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
