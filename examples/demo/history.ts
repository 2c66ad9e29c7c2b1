/** What happened in a run of the demo: what the members told, and what the director did and saw. Moments are those of `clock.ts`. */

import type { MemberEvent } from './messages.ts';

type EventOf<T extends MemberEvent['type']> = Extract<MemberEvent, { type: T }>;

export interface Told<T extends MemberEvent['type'] = MemberEvent['type']> {
  readonly member: string;
  readonly event: EventOf<T>;
}

export type ActName = 'start' | 'SIGKILL' | 'SIGSTOP' | 'handover' | 'SIGTERM';

/** How one leader followed another. */
export interface Act {
  readonly name: ActName;
  /** Who led before; undefined at the start. */
  readonly from: string | undefined;
  /** To whom leadership was handed over by name. */
  readonly named: string | undefined;
  /** Who led then; undefined when nobody did while the director waited. */
  readonly next: { readonly member: string; readonly term: bigint } | undefined;
  /** From the end of one leader to the next one's start of work; until the director gave up, where there was none. */
  readonly vacancyMs: number;
  /** What the vacancy must stay below. */
  readonly limitMs: number;
}

/** One process of a member. */
export interface Life {
  readonly member: string;
  readonly from: number;
  /** How the director ended it: `SIGKILL`, or `exit code 0` after SIGTERM; undefined while it is to live. */
  readonly due: string | undefined;
  /** When and how it ended. */
  readonly end: { readonly at: number; readonly how: string } | undefined;
}

export interface History {
  readonly told: readonly Told[];
  readonly acts: readonly Act[];
  readonly lives: readonly Life[];
  /** Keys that the store still held when all were gone, but for the election's term. */
  readonly leftovers: readonly string[];
}

export function toldOf<T extends MemberEvent['type']>(told: readonly Told[], type: T): readonly Told<T>[] {
  return told.flatMap(({ member, event }) => (isOf(event, type) ? [{ member, event }] : []));
}

function isOf<T extends MemberEvent['type']>(event: MemberEvent, type: T): event is EventOf<T> {
  return event.type === type;
}

/** A time in which a leadership certainly believed that it leads. */
export interface Belief {
  readonly member: string;
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
  readonly asked: number;
}

/** One for each leadership: a member tells of it again and again, and the last word counts. */
export function beliefsOf(told: readonly Told[]): readonly Belief[] {
  const last = new Map(
    toldOf(told, 'believed').map(({ member, event }) => [`${member} ${event.term} ${event.from}`, { member, ...event }]),
  );
  return [...last.values()].toSorted((a, b) => a.from - b.from);
}
