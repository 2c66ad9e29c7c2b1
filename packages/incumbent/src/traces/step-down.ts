/** The spans of a leader whose term ends, from its last renewal to the release of its keys. */

import { FailoverSpan, type TraceContext, type TracedElection } from './failover.ts';
import { type Span, type SpanContext, STATUS_ERROR } from './opentelemetry.ts';

/** The last acknowledged renewal, on the monotonic clock, in ms. */
export interface Renewal {
  readonly sentMs: number;
  readonly acknowledgedMs: number;
}

/** How a leadership ended, from the event `ended`. */
export interface Ending {
  readonly election: TracedElection;
  readonly member: string;
  readonly term: bigint;
  readonly reason: string;
  readonly lost: boolean;
  readonly why: string;
  readonly sinceRenewalMs: number;
  readonly abortMs: number;
  readonly drainMs: number;
  /** Undefined if it is not known. */
  readonly renewal: Renewal | undefined;
  /** Since when a renewal was overdue, and the error of the first one that failed. */
  readonly suspect: { readonly atMs: number; readonly error: string } | undefined;
  /** Whether the last renewal has a span already. */
  readonly hasRenewalSpan: boolean;
  /** The takeover that began this term. */
  readonly takeover: SpanContext | undefined;
}

/** The ends for which the lack of renewals is the cause. */
const UNRENEWED: ReadonlySet<string> = new Set(['deadline', 'clockJump', 'leaseExpired']);

/** The end of one term. */
export class StepDown {
  readonly #span: FailoverSpan;
  #phase: Span;

  /** Called directly after the abort. */
  constructor(context: TraceContext, ending: Ending, nowMs: number) {
    const { election, member, term, reason, lost, why } = ending;
    const noticedMs = nowMs - ending.abortMs;
    const sentMs = noticedMs - ending.sinceRenewalMs;
    const attributes = { 'incumbent.member': member };
    const startMs = lost ? sentMs : noticedMs;
    const about = { election, endedTerm: term, attributes };
    this.#span = FailoverSpan.start(context, about, 'incumbent.step_down', startMs, ending.takeover);
    this.#span.setAttributes({ 'incumbent.reason': reason, 'incumbent.lost': lost, 'incumbent.since_renewal_ms': ending.sinceRenewalMs });
    if (lost) {
      this.#span.setStatus(STATUS_ERROR, why);
      this.#lost(ending, sentMs, noticedMs);
    }
    this.#span.ended('incumbent.abort', noticedMs, nowMs);
    this.#phase = this.#span.child('incumbent.drain', nowMs, { 'incumbent.drain.allowed_ms': ending.drainMs });
  }

  drained(atMs: number, stopped: boolean): void {
    this.#phase.setAttributes({ 'incumbent.drain.stopped': stopped });
    if (!stopped) this.#phase.setStatus({ code: STATUS_ERROR, message: 'the work did not stop within the drain' });
    this.#phase.end(this.#span.at(atMs));
    this.#phase = this.#span.child('incumbent.release', atMs);
  }

  released(atMs: number): void {
    this.#phase.end(this.#span.at(atMs));
    this.#span.end(atMs);
  }

  #lost({ reason, renewal, suspect, hasRenewalSpan }: Ending, sentMs: number, noticedMs: number): void {
    const acknowledgedMs = Math.min(Math.max(renewal?.acknowledgedMs ?? sentMs, sentMs), noticedMs);
    if (!hasRenewalSpan) this.#span.ended('incumbent.renewal', sentMs, acknowledgedMs);
    if (!UNRENEWED.has(reason)) return;
    const unrenewed = this.#span.child('incumbent.unrenewed', acknowledgedMs);
    if (suspect !== undefined) unrenewed.addEvent('suspect', { 'incumbent.error': suspect.error }, this.#span.at(suspect.atMs));
    unrenewed.end(this.#span.at(noticedMs));
  }
}
