/** The spans of a candidate, from the first news to its first work. */

import { FailoverSpan, type TraceContext, type TracedElection } from './failover.ts';
import type { SpanContext } from './opentelemetry.ts';

/** The first news that a waiting candidate has seen. */
export interface Notification {
  readonly atMs: number;
  readonly why: string;
  /** How long the timeout has lasted that was the news. 0 if it was none. */
  readonly waitedMs: number;
}

/** One claim, with the moments at which it was sent and answered. */
export interface ClaimTimes {
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly outcome: string;
  readonly term: bigint;
}

/** What the takeover of one term is about. */
export interface TakeoverInit {
  readonly election: TracedElection;
  readonly member: string;
  readonly endedTerm: bigint;
  readonly notification: Notification | undefined;
  /** When the takeover begins without a notification. */
  readonly startMs: number;
}

/** One attempt to succeed the leader of `endedTerm`. */
export class Takeover {
  readonly endedTerm: bigint;
  readonly #span: FailoverSpan;
  readonly #notification: Notification | undefined;
  readonly #startMs: number;
  /** Until when the spans tell what the candidate did. */
  #coveredMs: number;
  /** The outcome of the last claim. Undefined before the first one. */
  #outcome: string | undefined;

  constructor(context: TraceContext, { election, member, endedTerm, notification, startMs }: TakeoverInit) {
    this.endedTerm = endedTerm;
    this.#notification = notification;
    this.#startMs = notification === undefined ? startMs : notification.atMs - notification.waitedMs;
    this.#coveredMs = this.#startMs;
    const about = { election, endedTerm, attributes: { 'incumbent.member': member } };
    this.#span = FailoverSpan.start(context, about, 'incumbent.takeover', this.#startMs);
    if (notification === undefined || notification.waitedMs === 0) return;
    this.#span.ended('incumbent.claim_timeout', this.#startMs, notification.atMs);
    this.#coveredMs = notification.atMs;
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext;
  }

  claimed({ sentMs, answeredMs, outcome, term }: ClaimTimes): void {
    this.#prepared(sentMs);
    this.#span.ended('incumbent.claim', sentMs, answeredMs, { 'incumbent.outcome': outcome, 'incumbent.term': String(term) });
    this.#outcome = outcome;
    this.#coveredMs = answeredMs;
  }

  /**
   * `keptMs`: how long the store keeps a lease after its last renewal, at most. Known only if the
   * candidate has waited.
   */
  elected(atMs: number, term: bigint, reason: string, keptMs: number | undefined): void {
    // The answer of a claim that was applied is the election.
    if (this.#outcome !== 'elected') {
      this.#prepared(atMs);
      this.#coveredMs = atMs;
    }
    this.#span.setAttributes({ 'incumbent.term': String(term), 'incumbent.reason': reason });
    if (reason !== 'expired' || keptMs === undefined || this.#notification === undefined) return;
    this.#span.beside('incumbent.lease.expiry', this.#startMs - keptMs, this.#startMs, {
      'incumbent.inferred': true,
      'incumbent.lease.kept_ms': keptMs,
    });
  }

  workStarted(atMs: number): void {
    this.#span.ended('incumbent.elected', this.#coveredMs, atMs);
    this.#span.ended('incumbent.first_work', atMs, atMs);
    this.#span.end(atMs);
  }

  /** Another candidate was elected, this one left the queue, or the term ended before its work. */
  givenUp(atMs: number): void {
    this.#span.setAttributes({ 'incumbent.given_up': true });
    this.#span.end(atMs);
  }

  /** The time before a claim, or before the proof that a handover has elected this candidate. */
  #prepared(untilMs: number): void {
    if (this.#outcome !== undefined) {
      if (untilMs > this.#coveredMs) this.#span.ended('incumbent.retry', this.#coveredMs, untilMs);
    } else if (this.#notification !== undefined) {
      this.#span.ended('incumbent.notification', this.#coveredMs, untilMs, { 'incumbent.why': this.#notification.why });
    }
  }
}
