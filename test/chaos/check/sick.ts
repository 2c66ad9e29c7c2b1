/**
 * While one server is faulty and a quorum works, or while watches are silent, a member leads within
 * a bounded time.
 */

import { only, type ChaosEvent, type Of } from '../history.ts';
import { seconds, spansOf, type Rule, type Span } from './rule.ts';

/** Faults of one server, while the others serve requests. */
const OF_ONE_SERVER: ReadonlySet<string> = new Set(['killServer', 'pauseServer', 'cutServer', 'slowServer', 'freezeDisk']);
/** The smallest number of servers that has a quorum without one of them. */
const LEAST_SERVERS = 3;

/** A time in which one server is faulty or watches are silent, and nothing else fails. */
interface Spell {
  readonly fault: string;
  readonly target: string;
  readonly from: number;
  readonly to: number;
  /** The longest time without a valid leader, in ms. */
  readonly vacantMs: number;
}

/** May affect several members at once, because their calls succeed. */
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

/** The parts of a fault's time in which no other fault is active. */
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
