/**
 * At no instant do two believe; and stronger: nobody believes in a term once the store has issued a newer one, or has taken the term's record away.
 *
 * Belief is final once it is false, so each leadership is asked at these instants only, and first thing when a process runs again that stood still
 * meanwhile. Where a promise is excused (somebody ended a live lease), the overlap is measured instead.
 */

import type { ProcessView, LeadershipView, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface BeliefRules {
  /** How long two may believe after somebody ended a live lease, in ms; 0: never. */
  readonly overlapMs: number;
}

export class BeliefChecker implements Checker {
  /** The longest time that two have believed, in ms. */
  longestOverlapMs = 0;
  readonly #overlapMs: number;
  readonly findings: Findings = new Findings();
  readonly #newest = new Map<string, bigint>();
  readonly #open = new Set<LeadershipView>();
  /** Terms whose record is gone, and not by an operator's hand, which its holder is told of by a watch. */
  readonly #gone = new Set<string>();
  /** Those who believed when they should not have, since when. */
  readonly #late = new Map<LeadershipView, number>();

  constructor({ overlapMs }: BeliefRules) {
    this.#overlapMs = overlapMs;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    if (this.#late.size > 0) this.#askLate(atMs);
    switch (event.type) {
      case 'issued':
        this.#newest.set(event.election, event.term);
        return this.#askAll(atMs);
      case 'recordGone':
        if (event.cause.by === 'operator' || event.cause.by === 'store') return undefined;
        this.#gone.add(nameOf(event));
        return this.#askAll(atMs);
      case 'elected':
        this.#open.add(event.handle);
        return this.#ask(event.handle, atMs);
      case 'resumed':
        return this.#askAll(atMs, event.process);
      case 'ended':
        this.#open.delete(event.handle);
        this.#late.delete(event.handle);
        return undefined;
      default:
        return undefined;
    }
  }

  #askAll(atMs: number, process?: ProcessView): void {
    for (const handle of this.#open) if (process === undefined || handle.process === process) this.#ask(handle, atMs);
  }

  #ask(handle: LeadershipView, atMs: number): void {
    if (!this.#isOver(handle) || !canBeAsked(handle) || !handle.isValid() || this.#late.has(handle)) return;
    if (this.#overlapMs > 0) this.#late.set(handle, atMs);
    else this.findings.add('one believes', atMs, `${handle.process.name} believes in term ${handle.term}, ${this.#why(handle)}`);
  }

  #askLate(atMs: number): void {
    for (const [handle, sinceMs] of this.#late) {
      if (handle.process.state === 'dead') this.#late.delete(handle);
      if (!canBeAsked(handle)) continue;
      if (!handle.isValid()) this.#late.delete(handle);
      else this.#measure(handle, atMs - sinceMs, atMs);
    }
  }

  #measure(handle: LeadershipView, overlapMs: number, atMs: number): void {
    this.longestOverlapMs = Math.max(this.longestOverlapMs, overlapMs);
    if (overlapMs <= this.#overlapMs) return;
    this.#late.delete(handle);
    this.findings.add('one believes', atMs, `${handle.process.name} has believed in term ${handle.term} for ${overlapMs} ms too long`);
  }

  #isOver(handle: LeadershipView): boolean {
    return (this.#newest.get(handle.election) ?? 0n) > handle.term || this.#gone.has(nameOf(handle));
  }

  #why(handle: LeadershipView): string {
    const newest = this.#newest.get(handle.election) ?? 0n;
    return newest > handle.term ? `and term ${newest} was issued` : 'and its record is gone';
  }
}

function nameOf({ election, term }: { readonly election: string; readonly term: bigint }): string {
  return `${election}/${term}`;
}

/** A blocked process may well be in the middle of code that asks. */
function canBeAsked({ process }: LeadershipView): boolean {
  return process.state === 'running' || process.state === 'blocked';
}
