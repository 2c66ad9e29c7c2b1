/**
 * Decides from a history whether the guarantees held. Pure, so that tests can pass histories that
 * violate them.
 */

import { heardOf } from './cluster.ts';
import { leaderless } from './gaps.ts';
import type { Act, ValidSpan, Gap, History, BrokerRun } from './history.ts';

/** A promise, and how it was broken. Empty if it held. */
export interface Finding {
  readonly promise: string;
  readonly broken: readonly string[];
}

export function judge(history: History): readonly Finding[] {
  const { validSpans, messages, heard } = history;
  const asked = validSpans.reduce((sum, validSpan) => sum + validSpan.asked, 0);
  return [
    {
      promise: `at no instant did two consider themselves controller (asked ${asked.toLocaleString('en')} times)`,
      broken: oneValidController(history),
    },
    { promise: 'each term was higher than the one before', broken: termsRise(history) },
    {
      promise: `no partition had two leaders in one epoch (${heardOf(heard, 'leads').length} leaders)`,
      broken: oneLeaderPerEpoch(history),
    },
    {
      promise: `${messages.acknowledged.length.toLocaleString('en')} messages were acknowledged, and every one was read back`,
      broken: nothingLost(history),
    },
    { promise: 'what the paused controllers sent was refused, and had no effect', broken: staleRefused(history) },
    { promise: 'the handover went to the one that was named', broken: namedLeads(history) },
    {
      promise: 'the cluster was never without a controller for longer than the limit',
      broken: history.acts.flatMap((act) => vacanciesEnd(history, act)),
    },
    { promise: 'every process ended as it should', broken: endedLives(history).flatMap(endedWell) },
    ...leftNothing(history),
  ];
}

/** Messages that were acknowledged and cannot be read. */
export function lost({ messages: { acknowledged, read } }: History): readonly string[] {
  const there = new Set(read);
  return acknowledged.filter((message) => !there.has(message));
}

/** The times without a partition leader in an act. */
export function gapsIn(history: History, { begun, ended }: Act): readonly Gap[] {
  return leaderless(history, history.acts.at(-1)?.ended ?? 0).filter(({ from }) => from >= begun && from < ended);
}

function oneValidController({ validSpans, heard }: History): readonly string[] {
  const isSilent = (broker: string, term: bigint): boolean =>
    !validSpans.some((validSpan) => validSpan.broker === broker && validSpan.term === term);
  const silent = heardOf(heard, 'elected').filter(({ broker, event }) => isSilent(broker, event.term));
  const pairs = validSpans.flatMap((a, index) => validSpans.slice(index + 1).map((b) => [a, b] as const));
  return [
    ...silent.map(({ broker, event }) => `${broker} never said whether it was valid in term ${event.term}`),
    ...pairs
      .filter(([a, b]) => overlapMs(a, b) >= 0)
      .map(([a, b]) => {
        return `${a.broker} (term ${a.term}) and ${b.broker} (term ${b.term}) were both valid, for ${overlapMs(a, b).toFixed(1)} ms`;
      }),
  ];
}

function overlapMs(a: ValidSpan, b: ValidSpan): number {
  return Math.min(a.to, b.to) - Math.max(a.from, b.from);
}

function termsRise({ heard }: History): readonly string[] {
  const begun = heardOf(heard, 'elected').toSorted((a, b) => a.event.at - b.event.at);
  const broken = begun.flatMap(({ broker, event }, index) => {
    const before = begun[index - 1];
    return before === undefined || event.term > before.event.term
      ? []
      : [`${broker} began term ${event.term} after ${before.broker} had begun term ${before.event.term}`];
  });
  return begun.length === 0 ? ['nobody was ever elected'] : broken;
}

function oneLeaderPerEpoch({ heard }: History): readonly string[] {
  const led = heardOf(heard, 'leads');
  const byEpoch = Map.groupBy(led, ({ event: { partition, epoch } }) => `${partition} in epoch ${epoch}`);
  const broken = [...byEpoch].flatMap(([what, leaders]) => {
    const brokers = [...new Set(leaders.map(({ broker }) => broker))];
    return brokers.length > 1 ? [`${what} was led by ${brokers.join(' and ')}`] : [];
  });
  return led.length === 0 ? ['no partition was ever led'] : broken;
}

function nothingLost(history: History): readonly string[] {
  if (history.messages.acknowledged.length === 0) return ['none was ever acknowledged'];
  const missing = lost(history);
  return missing.length === 0 ? [] : [`${missing.length} were lost: ${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ', …' : ''}`];
}

/** Each pause in the middle of an action leads to at least one rejection of its term. */
function staleRefused({ heard, effects }: History): readonly string[] {
  const stops = heardOf(heard, 'stopping');
  const refusals = heardOf(heard, 'refused');
  const accepted = stops.flatMap(({ broker, event: { before, term } }) => {
    const by = before === 'write' ? 'store' : 'broker';
    const isRefused = refusals.some(({ event }) => event.by === by && event.stale === term);
    return isRefused ? [] : [`nobody refused the ${before} of ${broker}, of term ${term}`];
  });
  const effect = effects.map((key) => `${key} is in the store, which a paused controller wrote`);
  return stops.length === 0 ? ['no controller was ever paused'] : [...accepted, ...effect];
}

function namedLeads({ acts }: History): readonly string[] {
  const byName = acts.filter(({ named }) => named !== undefined);
  if (byName.length === 0) return ['there was no handover'];
  return byName.flatMap(({ named, next }) =>
    next?.broker === named ? [] : [`${named} was named, and ${next?.broker ?? 'nobody'} was elected`],
  );
}

function vacanciesEnd(history: History, act: Act): readonly string[] {
  const { name, next, vacancyMs, limitMs } = act;
  if (next === undefined) return [`${name}: there was no controller for ${seconds(vacancyMs)}`];
  const long = gapsIn(history, act).filter(({ from, to }) => to - from > limitMs);
  return [
    ...(vacancyMs > limitMs ? [`${name}: there was no controller for ${seconds(vacancyMs)}, above the limit of ${seconds(limitMs)}`] : []),
    ...long.map(
      ({ partition, from, to }) => `${name}: ${partition} had no leader for ${seconds(to - from)}, above the limit of ${seconds(limitMs)}`,
    ),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** Checks nothing while brokers run. */
function leftNothing({ leftovers }: History): readonly Finding[] {
  if (leftovers === undefined) return [];
  return [{ promise: 'the store holds nothing but the last term', broken: leftovers.map((key) => `${key} was left in the store`) }];
}

/** The processes that have ended, if brokers are to continue. */
function endedLives({ lives, leftovers }: History): readonly BrokerRun[] {
  return leftovers === undefined ? lives.filter(({ end }) => end !== undefined) : lives;
}

function endedWell({ broker, due, end }: BrokerRun): readonly string[] {
  if (end === undefined) return [`${broker} did not end`];
  if (due === undefined) return [`${broker} ended by itself: ${end.how}`];
  return end.how === due ? [] : [`${broker} ended with ${end.how} instead of ${due}`];
}
