/**
 * What this process has seen of one election: its timeline, and the ends of its terms. The store
 * keeps no history, so it begins when the process starts. A function of the views and their times.
 */

import type { ElectionView, LeaderView, VacantView } from '@incumbent/core';

import type { TermEnd, TermSpan } from './documents.ts';

/** How many parts of the timeline, and how many ends, are kept for an election. */
const MAX_SPANS = 60;
const MAX_ENDS = 20;

/** Since when the present state lasts. */
interface Since {
  readonly at: number;
  /** True if this process has not seen the beginning. */
  readonly isOlder: boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class ElectionHistory {
  readonly #election: string;
  readonly #nextId: () => number;
  readonly #spans: Mutable<TermSpan>[] = [];
  readonly #ends: TermEnd[] = [];
  #count = 0;
  /** The last state that the store has confirmed, which a view `unknown` does not end. */
  #known: { readonly view: LeaderView | VacantView; readonly since: Since } | undefined;
  #since: Since | undefined;

  /** `nextId` numbers the ends of all elections. */
  constructor(election: string, nextId: () => number) {
    this.#election = election;
    this.#nextId = nextId;
  }

  get spans(): readonly TermSpan[] {
    return this.#spans;
  }

  /** The newest first. */
  get ends(): readonly TermEnd[] {
    return this.#ends;
  }

  /** How many terms this process has seen end. */
  get count(): number {
    return this.#count;
  }

  get since(): Since | undefined {
    return this.#since;
  }

  /** Takes a view, and returns the end that it has added or completed. */
  see(view: ElectionView, at: number): TermEnd | undefined {
    if (view.state === 'unknown') {
      // Before the first answer, nothing has been seen.
      if (this.#known === undefined) return undefined;
      this.#since = { at: view.since, isOlder: false };
      this.#begin({ state: 'unknown', from: view.since });
      return undefined;
    }
    const before = this.#known;
    const isSame = before !== undefined && isSameState(before.view, view);
    const since = isSame ? before.since : { at, isOlder: before === undefined || this.#spans.at(-1)?.state === 'unknown' };
    this.#known = { view, since };
    this.#since = since;
    this.#begin(spanOf(view, at));
    return before === undefined || isSame
      ? undefined
      : view.state === 'vacant'
        ? this.#vacated(before.view, view, at)
        : this.#led(before.view, view, at);
  }

  #begin(span: TermSpan): void {
    const last = this.#spans.at(-1);
    if (last !== undefined && last.state === span.state && last.term === span.term && last.member === span.member) {
      if (span.reason !== undefined) last.reason = span.reason;
      return;
    }
    if (last !== undefined) last.to = span.from;
    this.#spans.push({ ...span });
    if (this.#spans.length > MAX_SPANS) this.#spans.shift();
  }

  #vacated(before: LeaderView | VacantView, { term, reason }: VacantView, at: number): TermEnd | undefined {
    const last = this.#ends[0];
    // The vacancy is known already, and its reason now too: the leader has released the election.
    if (last !== undefined && before.state === 'vacant' && last.next === undefined) return this.#replace({ ...last, reason });
    if (term === undefined) return undefined;
    const member = before.state === 'leader' && before.term === term ? { member: before.memberId } : {};
    return this.#add({ term: String(term), ...member, reason, at });
  }

  #led(before: LeaderView | VacantView, { term, memberId, previous }: LeaderView, at: number): TermEnd | undefined {
    const next = { term: String(term), member: memberId };
    const vacancy = previous?.vacantForMs === undefined ? {} : { vacantForMs: previous.vacantForMs };
    const last = this.#ends[0];
    if (before.state === 'vacant' && last !== undefined && last.next === undefined) {
      const reason = previous !== undefined && String(previous.term) === last.term ? previous.reason : last.reason;
      return this.#replace({ ...last, reason, next, ...vacancy });
    }
    if (previous !== undefined)
      return this.#add({ term: String(previous.term), member: previous.memberId, reason: previous.reason, at, next, ...vacancy });
    if (before.state === 'vacant') return undefined;
    return this.#add({ term: String(before.term), member: before.memberId, reason: 'unknown', at, next });
  }

  #add(end: Omit<TermEnd, 'id' | 'election'>): TermEnd {
    const added = { id: this.#nextId(), election: this.#election, ...end };
    this.#count += 1;
    this.#ends.unshift(added);
    this.#ends.splice(MAX_ENDS);
    return added;
  }

  #replace(end: TermEnd): TermEnd {
    this.#ends[0] = end;
    return end;
  }
}

function isSameState(a: LeaderView | VacantView, b: LeaderView | VacantView): boolean {
  if (a.state === 'leader') return b.state === 'leader' && a.term === b.term && a.memberId === b.memberId;
  return b.state === 'vacant' && a.term === b.term && a.reason === b.reason;
}

function spanOf(view: LeaderView | VacantView, from: number): TermSpan {
  if (view.state === 'leader') return { state: 'leader', from, term: String(view.term), member: view.memberId };
  return { state: 'vacant', from, reason: view.reason, ...(view.term === undefined ? {} : { term: String(view.term) }) };
}
