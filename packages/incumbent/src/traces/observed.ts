/** The spans of the observers of this process: when they saw the old leader go and the new one. */

import { type Fields, fieldsOf, newestTermBefore, termOf, textOf } from '../events.ts';
import { FailoverSpan, type TraceContext, type TracedElection } from './failover.ts';

/** An election as the observers of this process see it. All of them share its state. */
interface Observed {
  /** How many observers are open. */
  observers: number;
  /** The newest term of a leader that was shown, since the store has last lost terms. 0 before. */
  ledTerm: bigint;
  vacantSinceMs: number | undefined;
}

/** Makes a span of each change of the leader that the observers of this process see. */
export class ObservedElections {
  readonly #context: TraceContext;
  readonly #observed = new Map<string, Observed>();

  constructor(context: TraceContext) {
    this.#context = context;
  }

  /** Handles the event `observed`. */
  see(election: TracedElection, fields: Fields, now: number): void {
    const key = JSON.stringify(Object.values(election));
    const seen = this.#observed.get(key) ?? { observers: 0, ledTerm: 0n, vacantSinceMs: undefined };
    this.#observed.set(key, seen);
    seen.ledTerm = newestTermBefore(fields, seen.ledTerm);
    const [state, term] = [textOf(fields, 'state'), termOf(fields)];
    if (state === 'opened') seen.observers += 1;
    else if (state === 'closed' && seen.observers > 1) seen.observers -= 1;
    else if (state === 'closed') this.#observed.delete(key);
    else if (state === 'vacant') seen.vacantSinceMs ??= now;
    else if (state === 'leader' && term !== undefined) this.#leader(election, seen, { term, previous: fieldsOf(fields['previous']) }, now);
  }

  #leader(
    election: TracedElection,
    seen: Observed,
    { term, previous }: { readonly term: bigint; readonly previous: Fields },
    now: number,
  ): void {
    const { ledTerm, vacantSinceMs = now } = seen;
    if (term <= ledTerm) return;
    [seen.ledTerm, seen.vacantSinceMs] = [term, undefined];
    const endedTerm = termOf(previous);
    // The first leader that is shown is no change.
    if (ledTerm === 0n || endedTerm === undefined) return;
    const attributes = { 'incumbent.term': String(term), 'incumbent.reason': textOf(previous, 'reason') };
    FailoverSpan.start(this.#context, { election, endedTerm, attributes }, 'incumbent.observed', vacantSinceMs).end(now);
  }
}
