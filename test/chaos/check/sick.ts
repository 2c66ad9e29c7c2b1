/**
 * While one server is sick and a quorum is healthy, or watches are silent, somebody leads within a
 * bound.
 */

import { only, type ChaosEvent, type Of } from '../history.ts';
import { seconds, spansOf, type Rule, type Span } from './rule.ts';

/** Faults of one server: the others serve meanwhile. */
const OF_ONE_SERVER: ReadonlySet<string> = new Set(['killServer', 'pauseServer', 'cutServer', 'slowServer', 'freezeDisk']);
/** As few servers as have a quorum without one. */
const LEAST_SERVERS = 3;

/** One server is sick, or watches are silent, and nothing else is wrong. */
interface Spell {
  readonly fault: string;
  readonly target: string;
  readonly from: number;
  readonly to: number;
  /** The longest time in which nobody believed, in ms. */
  readonly vacantMs: number;
}

/** Of several members at once, too: their calls go through. */
const SILENT = 'silenceWatches';

export function spellsOf(history: readonly ChaosEvent[], servers: number): readonly Spell[] {
  const end = history.reduce((last, { at }) => Math.max(last, at), 0);
  const spans = spansOf(only(history, 'fault')).map((span) => ({ ...span, to: Math.min(span.to, end) }));
  const valid = only(history, 'valid').toSorted((a, b) => a.from - b.from);
  return spans
    .filter(({ fault }) => fault === SILENT || (OF_ONE_SERVER.has(fault) && servers >= LEAST_SERVERS))
    .flatMap((span) =>
      without(
        span,
        spans.filter((other) => other !== span && !(span.fault === SILENT && other.fault === SILENT)),
      ).map(([from, to]) => ({ fault: span.fault, target: span.target, from, to, vacantMs: longestVacancy(valid, from, to) })),
    );
}

export const somebodyLeadsBesideTheSick: Rule = (history, { servers, sickMs, silentMs }) =>
  spellsOf(history, servers.length).flatMap(({ fault, target, from, vacantMs }) => {
    const allowedMs = fault === SILENT ? silentMs : sickMs;
    if (vacantMs <= allowedMs) return [];
    const what = `nobody led for ${seconds(vacantMs)} while nothing was wrong but ${fault} of ${target}; ${seconds(allowedMs)} are allowed`;
    return [{ promise: 'somebody leads while a quorum is healthy', at: from, what }];
  });

/** The parts of a fault's time in which no other fault is on. */
function without({ from, to }: Span, others: readonly Span[]): readonly (readonly [from: number, to: number])[] {
  let rest: readonly (readonly [number, number])[] = [[from, to]];
  for (const other of others) {
    const cut = rest.flatMap(([a, b]) => [[a, Math.min(b, other.from)] as const, [Math.max(a, other.to), b] as const]);
    if (other.from < to && other.to > from) rest = cut.filter(([a, b]) => a < b);
  }
  return rest;
}

/** `valid` is sorted by `from`. */
function longestVacancy(valid: readonly Of<'valid'>[], from: number, to: number): number {
  let longest = 0;
  let led = from;
  for (const span of valid) {
    if (span.at <= led || span.from >= to) continue;
    longest = Math.max(longest, span.from - led);
    led = span.at;
  }
  return Math.max(longest, to - led);
}
