/**
 * Checks that at no instant two members are valid leaders. A leadership must also be invalid once
 * the store has issued a newer term or has deleted the record of its term. A leadership that is not
 * valid must have no time left, and its state must be `ended`.
 *
 * A leadership that has become invalid stays so. Each leadership is therefore checked only at these
 * instants, and first when a stopped process runs again. Where the profile allows an overlap, the
 * checker measures it instead, but only if somebody ended a live lease of the old leader.
 */

import type { ProcessView, LeadershipView, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface TwoLeadersRules {
  /** For how long two members may be valid after somebody ended a live lease, in ms. 0: never. */
  readonly overlapMs: number;
  /** Runs `task` at a whole ms of world time. Default: only events lead to a check. */
  readonly at?: (atMs: number, task: () => void) => void;
}

export class TwoLeadersChecker implements Checker {
  /** The longest time that two members were valid, in ms. */
  longestOverlapMs = 0;
  readonly #overlapMs: number;
  readonly #at: TwoLeadersRules['at'];
  readonly findings: Findings = new Findings();
  readonly #newest = new Map<string, bigint>();
  readonly #open = new Set<LeadershipView>();
  /**
   * Terms whose record was deleted, other than by an operator. The holder learns of an operator's
   * deletion by its watch.
   */
  readonly #gone = new Set<string>();
  /**
   * By process: the newest term of each election when somebody ended the leases of the process. Its
   * leaderships up to that term may overlap with a newer one.
   */
  readonly #leasesEnded = new Map<string, ReadonlyMap<string, bigint>>();
  /** Leaderships that were valid when they should not have been, and since when. */
  readonly #late = new Map<LeadershipView, number>();

  constructor({ overlapMs, at }: TwoLeadersRules) {
    this.#overlapMs = overlapMs;
    this.#at = at;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    if (this.#late.size > 0) this.#askLate(atMs);
    switch (event.type) {
      case 'issued':
        this.#newest.set(event.election, event.term);
        return this.#askAll(atMs);
      case 'faultInjected':
        if (event.kind === 'endLease' && event.target !== undefined) this.#leasesEnded.set(event.target, new Map(this.#newest));
        return undefined;
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
        if (canBeAsked(event.handle)) this.#askRest(event.handle, atMs);
        return undefined;
      default:
        return undefined;
    }
  }

  #askAll(atMs: number, process?: ProcessView): void {
    for (const handle of this.#open) if (process === undefined || handle.process === process) this.#ask(handle, atMs);
  }

  #ask(handle: LeadershipView, atMs: number): void {
    if (!this.#isOver(handle) || !canBeAsked(handle)) return;
    if (this.#askRest(handle, atMs) || this.#late.has(handle)) return;
    if (this.#overlapMs > 0 && this.#mayOverlap(handle)) this.#measureFrom(handle, atMs);
    else this.findings.add('one valid leader', atMs, `${handle.process.name} is valid in term ${handle.term}, ${this.#why(handle)}`);
  }

  /**
   * Whether the leadership is not valid any more. Reads the time that is left before `isValid()`,
   * so that `isValid()` cannot hide a wrong answer.
   */
  #askRest(handle: LeadershipView, atMs: number): boolean {
    const [remainingMs, state] = [handle.remainingMs(), handle.state];
    if (handle.isValid()) return false;
    if (remainingMs !== 0 || state !== 'ended')
      this.findings.add(
        'a leader that is not valid has no time left',
        atMs,
        `${handle.process.name} in term ${handle.term} is ${state}, and has ${remainingMs} ms`,
      );
    return true;
  }

  #mayOverlap({ process, election, term }: LeadershipView): boolean {
    return term <= (this.#leasesEnded.get(process.name)?.get(election) ?? 0n);
  }

  /** Also checks at the end of the allowance, because the overlap may end before the next event. */
  #measureFrom(handle: LeadershipView, atMs: number): void {
    this.#late.set(handle, atMs);
    const tooLateMs = Math.floor(atMs + this.#overlapMs) + 1;
    this.#at?.(tooLateMs, () => this.#askLate(tooLateMs));
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
    this.findings.add('one valid leader', atMs, `${handle.process.name} was valid in term ${handle.term} for ${overlapMs} ms too long`);
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

/** A blocked process may be inside code that calls `isValid()`. */
function canBeAsked({ process }: LeadershipView): boolean {
  return process.state === 'running' || process.state === 'blocked';
}
