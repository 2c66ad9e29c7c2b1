/** Somebody leads within a bound after the last fault, and leads on; a crashed leader is followed within a bound, for a constant number of requests. */

import type { LeadershipView, Phase, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface LivenessRules {
  /** After the last fault somebody leads within this many ms. */
  readonly recoveryMs: number;
  /** A leader whose record somebody has deleted, in calm, stops within this many ms, */
  readonly noticeMs: number;
  /** and another leads, or the same anew, within this many. */
  readonly deposedMs: number;
  /** After a leader has crashed another leads within this many ms. */
  readonly failoverMs: number;
  /**
   * The most requests from the leader's key gone to the next leader's election. What is done anyway
   * does not count: renewals, hunts for what was left behind, and the reads of candidates that wait.
   */
  readonly failoverRequests: number;
  /** Candidates ask for the few ahead of them, so that whoever lists a whole queue hunts. Where they do not, hunts cannot be told apart, and count. */
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
  /** The term of the record in the store, at the end of the calm. */
  #recorded: bigint | undefined;
  /** Those who have listed a queue, and will read who leads. */
  readonly #hunters = new Set<string>();
  /** Those who have read an entry of a queue, and will read who leads: candidates that wait. */
  readonly #waiting = new Set<string>();
  /** Whether anybody stands behind the leader: one whose work has not stopped yet does not campaign. */
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
        return undefined;
      case 'request':
        return this.#requested(event);
      default:
        return undefined;
    }
  }

  #requested(event: Request): void {
    const counts = event.operation !== 'renewLease' && event.by.startsWith('m') && !this.#isHunt(event) && !this.#isCheck(event);
    if (this.#vacant && counts) this.requests += 1;
  }

  /** In a queue: all of it is listed, and then the leader's record read. In a group: the member's key is read. Nobody else asks so. */
  #isHunt({ operation, about = '', whole = false, by }: Request): boolean {
    if (!this.#rules.byArrival) return false;
    if (operation === 'list' && whole) this.#hunters.add(by);
    if (operation === 'list') return whole;
    return operation === 'read' && (about.startsWith('groups/') || (about.endsWith('/leader') && this.#hunters.delete(by)));
  }

  /** A candidate that waits reads its own entry of the queue, and then the leader's record. Nobody else reads an entry. */
  #isCheck({ operation, about = '', by }: Request): boolean {
    if (operation !== 'read') return false;
    const isEntry = about.includes('/candidates/');
    if (isEntry) this.#waiting.add(by);
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
        `${valid.process.name} believes in term ${valid.term}; the record's is ${this.#recorded}`,
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
