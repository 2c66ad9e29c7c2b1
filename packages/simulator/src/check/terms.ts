/**
 * Checks that terms strictly rise, without gaps where the store counts them, that each term belongs
 * to one process, and that the store rejects every guarded write with an older term.
 */

import type { LeadershipView, ProcessView, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface TermRules {
  /** The election whose leaders write under guard. Default: any election. */
  readonly writes?: string | undefined;
  /** Whether the store counts terms and never loses one. Default: no. */
  readonly areCounted?: boolean;
}

export class TermChecker implements Checker {
  readonly findings: Findings = new Findings();
  readonly #newest = new Map<string, bigint>();
  readonly #holders = new Map<string, string>();
  readonly #taken = new Map<string, LeadershipView>();
  /** By election and member: the terms that a fence has shown to the member. */
  readonly #seen = new Map<string, Set<bigint>>();
  readonly #writes: string | undefined;
  readonly #areCounted: boolean;
  #fenced = 0n;

  constructor({ writes, areCounted = false }: TermRules = {}) {
    this.#writes = writes;
    this.#areCounted = areCounted;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'issued':
        return this.#issued(event, atMs);
      case 'elected':
        return this.#elected(event.handle, atMs);
      case 'termSeen':
        return this.#see(event.election, event.process, event.term);
      case 'ended':
        return event.seenTerm === undefined ? undefined : this.#see(event.handle.election, event.handle.process, event.seenTerm);
      case 'wrote':
        return this.#wrote(event, atMs);
      default:
        return undefined;
    }
  }

  #issued({ election, term, memberId }: Extract<WorldEvent, { type: 'issued' }>, atMs: number): void {
    const before = this.#newest.get(election) ?? 0n;
    if (term <= before) this.findings.add('terms rise', atMs, `${memberId} was issued term ${term} after term ${before}`);
    else if (this.#areCounted && term !== before + 1n && this.#seen.get(`${election}/${memberId}`)?.has(term - 1n) !== true)
      this.findings.add('terms are counted', atMs, `${memberId} was issued term ${term} after term ${before}, and has seen no other`);
    this.#newest.set(election, term > before ? term : before);
    this.#holders.set(`${election}/${term}`, memberId);
  }

  /** The next term of the member is the one after the highest that a fence has shown to it. */
  #see(election: string, { name }: ProcessView, term: bigint): void {
    const key = `${election}/${name.slice(0, name.indexOf('#'))}`;
    this.#seen.set(key, (this.#seen.get(key) ?? new Set()).add(term));
  }

  #elected(handle: LeadershipView, atMs: number): void {
    const name = `${handle.election}/${handle.term}`;
    const memberId = this.#holders.get(name);
    if (memberId === undefined || !handle.process.name.startsWith(`${memberId}#`)) {
      this.findings.add('terms rise', atMs, `${handle.process.name} leads in term ${handle.term}, which is ${memberId ?? "nobody's"}`);
    }
    const other = this.#taken.get(name);
    if (other !== undefined)
      this.findings.add('terms rise', atMs, `${handle.process.name} and ${other.process.name} lead in term ${handle.term}`);
    this.#taken.set(name, handle);
  }

  #wrote({ to, term }: Extract<WorldEvent, { type: 'wrote' }>, atMs: number): void {
    const newest = to === 'fenced' ? this.#fenced : this.#newestOf(this.#writes);
    if (to !== 'unguarded' && term < newest)
      this.findings.add('stale writes are refused', atMs, `${to}: term ${term} after term ${newest}`);
    if (to === 'fenced' && term > this.#fenced) this.#fenced = term;
  }

  #newestOf(election: string | undefined): bigint {
    if (election !== undefined) return this.#newest.get(election) ?? 0n;
    return [...this.#newest.values()].reduce((a, b) => (a > b ? a : b), 0n);
  }
}

/**
 * Checks that a confirmed publish is in the store, and that each term of a process is higher than
 * those that it has met before: it led in them, or a fence told it about them.
 */
export class PublishChecker implements Checker {
  readonly findings: Findings = new Findings();
  #record: { readonly term: bigint; readonly value: unknown } | undefined;
  /** By process, and then by election. */
  readonly #met = new Map<ProcessView, Map<string, bigint>>();

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'record':
        this.#record = event.term === undefined ? undefined : { term: event.term, value: event.value };
        return undefined;
      case 'published':
        return this.#published(event, atMs);
      case 'ended':
        if (event.seenTerm !== undefined) this.#meet(event.handle, event.seenTerm);
        return undefined;
      case 'elected':
        return this.#elected(event.handle, atMs);
      default:
        return undefined;
    }
  }

  /** The record may have been deleted since, or belong to another leader. */
  #published({ process, term, value }: Extract<WorldEvent, { type: 'published' }>, atMs: number): void {
    if (this.#record?.term !== term) return;
    const [is, was] = [JSON.stringify(this.#record.value), JSON.stringify(value)];
    if (is !== was) this.findings.add('what is published is there', atMs, `${process.name} has published ${was}; the record has ${is}`);
  }

  #elected(handle: LeadershipView, atMs: number): void {
    const { process, election, term } = handle;
    const met = this.#met.get(process)?.get(election) ?? 0n;
    if (term <= met) this.findings.add('terms pass those met', atMs, `${process.name} leads in term ${term}, and has met term ${met}`);
    this.#meet(handle, term);
  }

  #meet({ process, election }: LeadershipView, term: bigint): void {
    const met = this.#met.get(process) ?? new Map<string, bigint>();
    this.#met.set(process, met);
    if (term > (met.get(election) ?? 0n)) met.set(election, term);
  }
}

/**
 * Checks that a leadership ends as `recordReplaced` only if there is a cause: the store has issued
 * another term since. A leader that knows a wrong revision of its keys ends in this way without
 * one.
 */
export class ReplacedChecker implements Checker {
  readonly findings: Findings = new Findings();
  /** By election: how many terms the store has issued. */
  readonly #issued = new Map<string, number>();
  /** By election and term: how many terms the store had issued by then. */
  readonly #issuedAt = new Map<string, number>();

  onEvent(event: WorldEvent, atMs: number): void {
    if (event.type === 'issued') {
      const { election, term } = event;
      const count = (this.#issued.get(election) ?? 0) + 1;
      this.#issued.set(election, count);
      this.#issuedAt.set(`${election}/${term}`, count);
    } else if (event.type === 'ended' && event.reason === 'recordReplaced') {
      const { election, term, process } = event.handle;
      if (this.#issued.get(election) === this.#issuedAt.get(`${election}/${term}`))
        this.findings.add('only another term replaces a leader', atMs, `${process.name} was replaced in term ${term}, the last one`);
    }
  }
}
