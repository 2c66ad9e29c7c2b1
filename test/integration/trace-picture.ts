/** Draws the trace of a failover, as a tracing service would show it. */

import { element, label, widthOf } from '../chaos/picture/svg.ts';
import { STYLE } from '../chaos/picture/style.ts';
import type { TracedFailover, TracedSpan } from './traced-failover.ts';

const WIDTH = 1_000;
const LEFT = 230;
const RIGHT = 90;
const TOP = 62;
const ROW = 20;
const FONT_PX = 11;
/** The width of a span without duration. */
const LEAST = 2;
/** The colour of each process. */
const COLOURS: Readonly<Record<string, string>> = { a: 't3', b: 't0', c: 't2' };

interface Row {
  readonly span: TracedSpan;
  readonly depth: number;
}

/** The markup of an SVG image. `names`: what each process is called. */
export function pictureOf({ spans, vacancy }: TracedFailover, title: string, names: Readonly<Record<string, string>>): string {
  const rows = rowsOf(withLastRenewal(spans));
  const from = Math.min(...rows.map(({ span }) => span.startMs));
  const to = Math.max(...rows.map(({ span }) => span.endMs));
  const x = (ms: number): number => LEFT + ((ms - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const height = TOP + rows.length * ROW + 16;
  const seconds = Array.from({ length: Math.floor((to - from) / 1_000) + 1 }, (_, index) => index);
  const grid = seconds.flatMap((second) => [
    element('line', { class: 'line', x1: x(from + second * 1_000), x2: x(from + second * 1_000), y1: TOP - 8, y2: height - 10 }),
    label(x(from + second * 1_000) - 8, TOP - 13, `${second} s`, 'faint'),
  ]);
  const [start, end] = [x(vacancy.startMs), x(vacancy.endMs)];
  const gap = [
    element('rect', { class: 'calm', x: start, y: TOP - 8, width: Math.max(end - start, LEAST), height: height - TOP }),
    label(start + 4, 40, `no leader for ${duration(vacancy.endMs - vacancy.startMs)}`, 'hit'),
  ];
  const bars = rows.flatMap(({ span, depth }, index) => {
    const [y, left] = [TOP + index * ROW, x(span.startMs)];
    const width = Math.max(x(span.endMs) - left, LEAST);
    const text = duration(span.endMs - span.startMs);
    const name = `${depth === 0 ? `${names[span.process] ?? span.process}: ` : ''}${span.name.replace('incumbent.', '')}`;
    const isRoom = left + width + 6 + widthOf(text, FONT_PX) < WIDTH;
    return [
      label(12 + depth * 16, y + 13, name, depth === 0 ? 'name' : 'ink'),
      element('rect', {
        class: COLOURS[span.process] ?? 't1',
        x: left,
        y: y + 3,
        width,
        height: ROW - 8,
        rx: 2,
        opacity: depth === 0 ? 0.55 : 1,
      }),
      label(isRoom ? left + width + 6 : left - 6 - widthOf(text, FONT_PX), y + 13, text, 'faint'),
    ];
  });
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img' },
    element('title', {}, title),
    element('style', {}, STYLE),
    element('rect', { class: 'ground', x: 0, y: 0, width: WIDTH, height }),
    label(12, 22, title, 'title'),
    ...gap,
    ...grid,
    ...bars,
  );
}

/** Each span below its parent; those of one process together. */
function rowsOf(spans: readonly TracedSpan[]): readonly Row[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const ordered = spans.toSorted((p, q) => p.startMs - q.startMs || p.endMs - q.endMs);
  const roots = ordered.filter(({ parentId }) => !ids.has(parentId));
  return ['a', 'b', 'c'].flatMap((process) =>
    roots.flatMap((span) => {
      if (span.process !== process) return [];
      const children = ordered.filter(({ parentId }) => parentId === span.spanId);
      return [{ span, depth: 0 }, ...children.map((child) => ({ span: child, depth: 1 }))];
    }),
  );
}

/** Without the renewals before the last one. */
function withLastRenewal(spans: readonly TracedSpan[]): readonly TracedSpan[] {
  const isRenewal = ({ name }: TracedSpan): boolean => name === 'incumbent.renewal';
  const last = spans
    .filter(isRenewal)
    .toSorted((p, q) => p.startMs - q.startMs)
    .at(-1);
  return spans.filter((span) => !isRenewal(span) || span === last);
}

function duration(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return ms === 0 ? '0' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
