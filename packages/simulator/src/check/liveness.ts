/**
 * Checks that a member leads within a bounded time after the last fault, and keeps leading. A
 * crashed leader is followed within a bounded time and for a constant number of requests.
 */

import type { LeadershipView, Phase, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface LivenessRules {
  /** The longest time from the last fault until a member leads, in ms. */
  readonly recoveryMs: number;
  /** The longest time that a leader continues after its record was deleted, in calm, in ms. */
  readonly noticeMs: number;
  /**
   * The longest time from that deletion until the next election, in ms. The same member may win it.
   */
  readonly deposedMs: number;
  /** The longest time from the crash of a leader until another one leads, in ms. */
  readonly failoverMs: number;
  /**
   * The most requests from the deletion of the leader's key to the next election. Renewals, the
   * cleanup of orphaned entries and the reads of waiting candidates do not count.
   */
  readonly failoverRequests: number;
  /**
   * Candidates read only the few entries ahead of them, so a client that lists a whole queue cleans
   * up orphans. Where this is false, cleanup requests cannot be told apart, and count.
   */
  readonly byArrival: boolean;
}

type Request = Extract<WorldEvent, { type: 'request' }>;

export class LivenessChecker implements Checker {
  recoveredAfterMs: number | undefined;
  failedOverAfterMs: number | undefined;
  requests = 0;
  readonly #rules: LivenessRules;
  readonly findings: Findings = new Findings();
  readonly #open = new Set<LeadershipView>();
  #phase: Phase = 'storm';
  #phaseAtMs = 0;
  #vacant = false;
  readonly #deposed: { ended?: number; led?: number } = {};
  /** The term of the leader's record in the store at the end of the calm. */
  #recorded: bigint | undefined;
  /** Clients that have listed a queue and will read the leader's record next. */
  readonly #cleaners = new Set<string>();
  /**
   * Clients that have read an entry of a queue and will read the leader's record next: waiting
   * candidates.
   */
  readonly #waiting = new Set<string>();
  /** Clients whose last read of the leader's record in this vacancy was counted. */
  readonly #counted = new Set<string>();
  /**
   * Whether a candidate waits behind the leader. A member whose work has not stopped yet does not
   * campaign.
   */
  #followed = true;

  constructor(rules: LivenessRules) {
    this.#rules = rules;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'phase':
        return this.#enter(event.phase, atMs);
      case 'elected':
        this.#open.add(event.handle);
        return this.#elected(event.handle, atMs);
      case 'ended':
        this.#open.delete(event.handle);
        if (this.#phase === 'deposed') this.#deposed.ended ??= atMs - this.#phaseAtMs;
        if (this.#phase === 'calm' && this.recoveredAfterMs !== undefined && event.lost && this.#isSettled(atMs))
          this.findings.add('whoever leads leads on', atMs, `${event.handle.process.name} lost its leadership in calm: ${event.reason}`);
        return undefined;
      case 'queue':
        this.#recorded = event.record;
        this.#followed = event.names.length > 1;
        return undefined;
      case 'recordGone':
        this.#vacant = this.#phase === 'failover';
        this.#counted.clear();
        return undefined;
      case 'request':
        return this.#requested(event);
      default:
        return undefined;
    }
  }

  #requested(event: Request): void {
    const counts = event.operation !== 'renewLease' && event.by.startsWith('m') && !this.#isCleanup(event) && !this.#isCheck(event);
    if (!this.#vacant || !counts) return;
    this.requests += 1;
    if (event.operation === 'read' && event.about?.endsWith('/leader') === true) this.#counted.add(event.by);
  }

  /**
   * Whether the request belongs to the cleanup of orphaned entries. For an election, the cleaner
   * lists the whole queue and then reads the leader's record. For a group, it reads the member's
   * key. No other code does this.
   */
  #isCleanup({ operation, about = '', whole = false, by }: Request): boolean {
    if (!this.#rules.byArrival) return false;
    if (operation === 'list' && whole) this.#cleaners.add(by);
    if (operation === 'list') return whole;
    return operation === 'read' && (about.startsWith('groups/') || (about.endsWith('/leader') && this.#cleaners.delete(by)));
  }

  /**
   * Whether a waiting candidate checks for itself: it reads its own entry of the queue and the
   * leader's record, which may arrive in either order. No other code reads an entry. If the record
   * was read first, the checker has counted that read, and subtracts it again.
   */
  #isCheck({ operation, about = '', by }: Request): boolean {
    if (operation !== 'read') return false;
    const isEntry = about.includes('/candidates/');
    if (isEntry && this.#counted.delete(by)) this.requests -= 1;
    else if (isEntry) this.#waiting.add(by);
    return isEntry || (about.endsWith('/leader') && this.#waiting.delete(by));
  }

  #isSettled(atMs: number): boolean {
    return atMs - this.#phaseAtMs > this.#rules.recoveryMs;
  }

  #elected(handle: LeadershipView, atMs: number): void {
    if (this.#phase === 'calm' && handle.isValid()) this.recoveredAfterMs ??= atMs - this.#phaseAtMs;
    if (this.#phase === 'deposed') this.#deposed.led ??= atMs - this.#phaseAtMs;
    if (this.#phase !== 'failover' || this.failedOverAfterMs !== undefined) return;
    this.failedOverAfterMs = atMs - this.#phaseAtMs;
    this.#vacant = false;
    if (this.requests > this.#rules.failoverRequests)
      this.findings.add('a failover costs a constant number of requests', atMs, `${this.requests} requests`);
  }

  #enter(phase: Phase, atMs: number): void {
    if (phase === 'deposed') this.#checkRecovery(atMs);
    if (phase === 'failover') this.#checkDeposed(atMs);
    if (phase === 'closing') this.#checkFailover(atMs);
    this.#phase = phase;
    this.#phaseAtMs = atMs;
    if (phase === 'calm' && this.#valid() !== undefined) this.recoveredAfterMs = 0;
  }

  #checkRecovery(atMs: number): void {
    const { recoveryMs } = this.#rules;
    const tookMs = this.recoveredAfterMs;
    const valid = this.#valid();
    if (valid !== undefined && valid.term !== this.#recorded)
      this.findings.add(
        'who leads has its record',
        atMs,
        `${valid.process.name} is valid in term ${valid.term}; the record's is ${this.#recorded}`,
      );
    if (valid === undefined) this.findings.add('somebody leads in the end', atMs, 'nobody leads when all has been calm for long');
    else if (tookMs === undefined || tookMs > recoveryMs)
      this.findings.add('somebody leads in the end', atMs, `it took ${tookMs} ms; ${recoveryMs} ms are allowed`);
  }

  #checkDeposed(atMs: number): void {
    const { noticeMs, deposedMs } = this.#rules;
    const [ended, led] = [this.#deposed.ended ?? Infinity, this.#deposed.led ?? Infinity];
    if (ended > noticeMs) this.findings.add('a deleted record ends leadership', atMs, `after ${ended} ms; ${noticeMs} ms are allowed`);
    if (led > deposedMs)
      this.findings.add('somebody leads in the end', atMs, `after the record was deleted: ${led} ms; ${deposedMs} ms are allowed`);
  }

  #checkFailover(atMs: number): void {
    const { failoverMs } = this.#rules;
    if (this.#followed && (this.failedOverAfterMs ?? Infinity) > failoverMs)
      this.findings.add('a crashed leader is followed', atMs, `after ${this.failedOverAfterMs} ms; ${failoverMs} ms are allowed`);
  }

  #valid(): LeadershipView | undefined {
    return [...this.#open].find((handle) => handle.process.state === 'running' && handle.isValid());
  }
}
