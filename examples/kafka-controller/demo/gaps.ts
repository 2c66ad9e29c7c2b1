/**
 * Computes who was in charge when, and when nobody was: for the cluster, and for each partition.
 */

import { heardOf } from './cluster.ts';
import type { Gap, Heard, BrokerRun, Pause } from './history.ts';

/** A time in which somebody was in charge and able to act. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The input. */
export interface Facts {
  readonly heard: readonly Heard[];
  readonly lives: readonly BrokerRun[];
  readonly pauses: readonly Pause[];
}

/**
 * The spans of controllers, from the election to the end of the term, the end of the process, or
 * its pause.
 */
export function controllers(facts: Facts): readonly Span[] {
  const ended = heardOf(facts.heard, 'ended');
  return heardOf(facts.heard, 'elected').map(({ broker, event }) => {
    const end = ended.find((one) => one.broker === broker && one.event.term === event.term)?.event.at;
    return span(facts, broker, event.at, end);
  });
}

/** The spans of each partition's leaders. */
function leaders(facts: Facts): ReadonlyMap<string, readonly Span[]> {
  const ended = heardOf(facts.heard, 'follows');
  const led = heardOf(facts.heard, 'leads').map(({ broker, event: { partition, epoch, at } }) => {
    const isEnd = (one: Heard<'follows'>): boolean =>
      one.broker === broker && one.event.partition === partition && one.event.epoch === epoch && one.event.at >= at;
    return { partition, span: span(facts, broker, at, ended.find(isEnd)?.event.at) };
  });
  return new Map([...Map.groupBy(led, ({ partition }) => partition)].map(([name, spans]) => [name, spans.map((one) => one.span)]));
}

function span({ lives, pauses }: Facts, broker: string, from: number, end = Infinity): Span {
  const died = lives.find((life) => life.broker === broker && (life.end?.at ?? Infinity) >= from)?.end?.at ?? Infinity;
  const stopped = pauses.find((pause) => pause.broker === broker && pause.from >= from)?.from ?? Infinity;
  return { from, to: Math.min(end, died, stopped) };
}

/** The times between the start of the first span and `until` that no span covers. */
export function gaps(spans: readonly Span[], until: number): readonly Span[] {
  const found: Span[] = [];
  let covered = Infinity;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from > covered) found.push({ from: covered, to: Math.min(from, until) });
    covered = covered === Infinity ? to : Math.max(covered, to);
  }
  if (covered < until) found.push({ from: covered, to: until });
  return found.filter(({ from, to }) => from < to);
}

/** When partitions had no leader, until that moment. */
export function leaderless(facts: Facts, until: number): readonly Gap[] {
  return [...leaders(facts)].flatMap(([partition, spans]) => gaps(spans, until).map((gap) => ({ partition, ...gap })));
}
