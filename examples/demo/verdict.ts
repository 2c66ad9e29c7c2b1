/** Whether the promises held, by what was told. Pure, so that it can be tried on histories in which they did not. */

import { beliefsOf, toldOf, type Act, type Belief, type History, type Life } from './history.ts';

/** A promise, and in which ways it was broken: none where it held. */
export interface Finding {
  readonly promise: string;
  readonly broken: readonly string[];
}

export function judge(history: History): readonly Finding[] {
  const beliefs = beliefsOf(history.told);
  const asked = beliefs.reduce((sum, belief) => sum + belief.asked, 0);
  const orders = toldOf(history.told, 'numbered').length;
  return [
    {
      promise: `at no instant did two believe that they lead (asked ${asked.toLocaleString('en')} times)`,
      broken: oneBeliever(history, beliefs),
    },
    { promise: 'each term was higher than the one before', broken: termsRise(history) },
    { promise: 'the late write of the paused one was refused, and it never believed again', broken: lateWriteRefused(history, beliefs) },
    { promise: 'the handover went to the one that was named', broken: namedLeads(history) },
    { promise: 'no vacancy lasted longer than its limit', broken: history.acts.flatMap(vacancyEnds) },
    { promise: `${orders.toLocaleString('en')} orders got a number, and none got another's`, broken: ordersUnique(history) },
    { promise: 'every process ended as it should', broken: history.lives.flatMap(endedWell) },
    { promise: 'the store holds nothing but the last term', broken: history.leftovers.map((key) => `${key} was left in the store`) },
  ];
}

/** Whether an act ended as it was to. */
export function hasProven(history: History, act: Act): boolean {
  const broken = vacancyEnds(act);
  if (act.name === 'SIGSTOP') return [...broken, ...lateWriteRefused(history, beliefsOf(history.told))].length === 0;
  return [...broken, ...(act.name === 'handover' ? namedLeads(history) : [])].length === 0;
}

function oneBeliever({ told }: History, beliefs: readonly Belief[]): readonly string[] {
  const silent = toldOf(told, 'leads').filter(({ member, event }) => !beliefs.some((b) => b.member === member && b.term === event.term));
  const pairs = beliefs.flatMap((a, index) => beliefs.slice(index + 1).map((b) => [a, b] as const));
  const overlaps = pairs.filter(([a, b]) => Math.max(a.from, b.from) <= Math.min(a.to, b.to));
  return [
    ...silent.map(({ member, event }) => `${member} never said what it believed in term ${event.term}`),
    ...overlaps.map(([a, b]) => {
      const ms = Math.min(a.to, b.to) - Math.max(a.from, b.from);
      return `${a.member} (term ${a.term}) and ${b.member} (term ${b.term}) both believed that they lead, for ${ms.toFixed(1)} ms`;
    }),
  ];
}

function termsRise({ told }: History): readonly string[] {
  const begun = toldOf(told, 'leads').toSorted((a, b) => a.event.at - b.event.at);
  const broken = begun.flatMap(({ member, event }, index) => {
    const before = begun[index - 1];
    return before === undefined || event.term > before.event.term
      ? []
      : [`${member} began term ${event.term} after ${before.member} had begun term ${before.event.term}`];
  });
  return begun.length === 0 ? ['nobody ever led'] : broken;
}

function lateWriteRefused({ told }: History, beliefs: readonly Belief[]): readonly string[] {
  const late = toldOf(told, 'wroteLate');
  if (late.length === 0) return ['it never tried its late write'];
  return late.flatMap(({ member, event: { term, at, valid, refused } }) => {
    const believed = valid || beliefs.some((belief) => belief.member === member && belief.term === term && belief.to >= at);
    return [
      ...(refused ? [] : [`the store took ${member}'s late write with term ${term}`]),
      ...(believed ? [`${member} still believed in term ${term} after it woke`] : []),
    ];
  });
}

function namedLeads({ acts }: History): readonly string[] {
  const byName = acts.filter(({ named }) => named !== undefined);
  if (byName.length === 0) return ['there was no handover'];
  return byName.flatMap(({ named, next }) => (next?.member === named ? [] : [`${named} was named, and ${next?.member ?? 'nobody'} led`]));
}

function vacancyEnds({ name, from, next, vacancyMs, limitMs }: Act): readonly string[] {
  const after = from === undefined ? 'at the start' : `after ${from} (${name})`;
  if (next === undefined) return [`${after}, nobody led for ${seconds(vacancyMs)}`];
  if (vacancyMs > limitMs) return [`${after}, nobody led for ${seconds(vacancyMs)}, above the limit of ${seconds(limitMs)}`];
  return vacancyMs < 0 ? [`${after}, ${next.member} began ${seconds(-vacancyMs)} too early`] : [];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** Numbers rise; and none that a leader gave lies above one that a later leader gave. */
function ordersUnique({ told }: History): readonly string[] {
  const given = toldOf(told, 'numbered').toSorted((a, b) => a.event.order - b.event.order);
  const broken = given.flatMap(({ member, event }, index) => {
    const before = given[index - 1];
    if (before?.event.order === event.order) return [`number ${event.order} was given by ${before.member} and by ${member}`];
    if (before !== undefined && before.event.term > event.term)
      return [`${member} gave number ${event.order} with term ${event.term}, after one with term ${before.event.term}`];
    return [];
  });
  return given.length === 0 ? ['no order ever got one'] : broken;
}

function endedWell({ member, due, end }: Life): readonly string[] {
  if (end === undefined) return [`${member} did not end`];
  if (due === undefined) return [`${member} ended by itself: ${end.how}`];
  return end.how === due ? [] : [`${member} ended with ${end.how} instead of ${due}`];
}
