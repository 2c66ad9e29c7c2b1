/**
 * Checks the events of a group of members, whatever store they used. The events may come from any
 * number of processes of one host, because they share its monotonic clock. The checker knows only
 * the guarantees of elections, not how elections work.
 */

/** An event, at a moment of the host's monotonic clock in ms (`at`). */
export type HistoryEvent =
  /** A member learned that it leads. */
  | { readonly type: 'elected'; readonly at: number; readonly election: string; readonly member: string; readonly term: bigint }
  /** `isValid()` returned true. */
  | { readonly type: 'valid'; readonly at: number; readonly election: string; readonly member: string; readonly term: bigint }
  /** The member learned that its leadership had ended. */
  | {
      readonly type: 'ended';
      readonly at: number;
      readonly election: string;
      readonly member: string;
      readonly term: bigint;
      readonly reason: string;
    }
  /** The telemetry of a member reported that its leadership began or ended. */
  | {
      readonly type: 'reported';
      readonly event: 'elected' | 'ended';
      readonly at: number;
      readonly election: string;
      readonly member: string;
      readonly term: bigint;
    }
  /** The process was killed, so the history need not contain the ends of its leaderships. */
  | { readonly type: 'died'; readonly at: number; readonly member: string };

/** What {@link checkHistory} permits. By default, every guarantee must hold. */
export interface HistoryRules {
  /**
   * An older leadership may be valid for less than this time after a newer election, in ms. Set
   * this above 0 only if an operator or the store ended a live lease. Default 0: an older
   * leadership is not valid even at the moment of the newer election.
   */
  readonly overlapMs?: number;
  /** Whether leaderships may still be held at the end of the history. Default false. */
  readonly unfinished?: boolean;
}

type Of<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T }>;

/**
 * Describes every guarantee that this history breaks. Returns an empty list if it breaks none. The
 * events may be in any order, but events of one moment must be in the order in which they happened.
 * Never throws because of the history.
 */
export function checkHistory(events: readonly HistoryEvent[], rules: HistoryRules = {}): readonly string[] {
  const sorted = events.toSorted((a, b) => a.at - b.at);
  const dead = new Set(sorted.flatMap((event) => (event.type === 'died' ? [event.member] : [])));
  const ofMembers = sorted.filter((event) => event.type !== 'died');
  const problems: string[] = [];
  for (const own of Map.groupBy(ofMembers, (event) => event.election).values()) {
    problems.push(...termsRise(own), ...oneValidLeader(own, rules.overlapMs ?? 0), ...oneEndEach(own, dead, rules.unfinished ?? false));
    problems.push(...reportedInPairs(own, dead, rules.unfinished ?? false));
  }
  return problems;
}

type OfMember = Exclude<HistoryEvent, Of<'died'>>;

function elections(events: readonly OfMember[]): readonly Of<'elected'>[] {
  return events.filter((event) => event.type === 'elected');
}

/** No term is issued twice, and a later election has a higher term. */
function termsRise(events: readonly OfMember[]): readonly string[] {
  const problems: string[] = [];
  let last: Of<'elected'> | undefined;
  for (const event of elections(events)) {
    if (last !== undefined && event.term <= last.term) {
      problems.push(`${name(event)} was elected at ${event.at} after ${name(last)}: terms do not rise`);
    }
    last = event;
  }
  return problems;
}

/** Once a newer term has begun, no older leadership is valid. The events are in order. */
function oneValidLeader(events: readonly OfMember[], overlapMs: number): readonly string[] {
  const elected: Of<'elected'>[] = [];
  return events.flatMap((event) => {
    if (event.type === 'elected') elected.push(event);
    if (event.type !== 'valid') return [];
    const newer = elected.find(({ term, at }) => term > event.term && at + overlapMs <= event.at);
    return newer === undefined
      ? []
      : [`${name(event)} was valid at ${event.at}, ${event.at - newer.at} ms after ${name(newer)} was elected`];
  });
}

/**
 * Every leadership that began ends once, with a reason, after it began, and is not valid after its
 * end.
 */
function oneEndEach(events: readonly OfMember[], dead: ReadonlySet<string>, unfinished: boolean): readonly string[] {
  const problems = new Set<string>();
  const lived = events.filter((event) => event.type !== 'reported');
  for (const [who, own] of Map.groupBy(lived, name)) {
    const begun = own.find((event) => event.type === 'elected');
    const ends = own.filter((event) => event.type === 'ended');
    const end = ends[0];
    if (begun === undefined) problems.add(`${who} was never elected, and yet ${own[0]?.type}`);
    else if (end === undefined && !dead.has(begun.member) && !unfinished) problems.add(`${who} never ended`);
    if (ends.length > 1) problems.add(`${who} ended ${ends.length} times`);
    if (end === undefined || begun === undefined) continue;
    if (end.reason === '') problems.add(`${who} ended without a reason`);
    if (end.at < begun.at) problems.add(`${who} ended before it began`);
    if (own.slice(own.indexOf(end)).some(({ type }) => type === 'valid')) problems.add(`${who} was valid after it had ended`);
  }
  return [...problems];
}

/** Telemetry reports the beginning of a leadership once, and then its end once. */
function reportedInPairs(events: readonly OfMember[], dead: ReadonlySet<string>, unfinished: boolean): readonly string[] {
  const reported = events.filter((event) => event.type === 'reported');
  return Array.from(Map.groupBy(reported, name), ([who, own]) => {
    const order = own.map(({ event }) => event).join(', ');
    const mayBeOpen = unfinished || own.some(({ member }) => dead.has(member));
    const isPair = order === 'elected, ended' || (mayBeOpen && order === 'elected');
    return isPair ? [] : [`telemetry reported for ${who}: ${order}; expected one elected and one ended, in this order`];
  }).flat();
}

function name({ election, member, term }: OfMember): string {
  return `${member} (${election}, term ${term})`;
}
