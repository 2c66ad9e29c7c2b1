/** Failovers as traces of OpenTelemetry, from the events of this process. */

import type { TelemetryEvent } from '@incumbent/core';
import { checkBoolean, checkKnown, invalidOption } from '@incumbent/core/adapter';

import { errorOf, type Fields, leaseKey, numberOf, onEvents, termOf, textOf } from '../events.ts';
import { FailoverSpan, type TraceContext, type TracedElection } from './failover.ts';
import { ObservedElections } from './observed.ts';
import type { SpanContext, Tracer, TracingApi } from './opentelemetry.ts';
import { type Renewal, StepDown } from './step-down.ts';
import { type Notification, Takeover } from './takeover.ts';
import type { TraceClock } from './timeline.ts';

const EVENTS = [
  'sessionOpened',
  'sessionRenewed',
  'sessionSuspect',
  'sessionRecovered',
  'sessionEnded',
  'memberClosed',
  'waiting',
  'left',
  'notified',
  'claimed',
  'elected',
  'workStarted',
  'ended',
  'drained',
  'released',
  'observed',
] as const satisfies readonly TelemetryEvent[];

/** The events about one member's part in one election. */
type ElectionEvent = Exclude<(typeof EVENTS)[number], `session${string}` | 'memberClosed' | 'observed'>;

/** The options of {@link FailoverTraces}. All have defaults. */
export interface FailoverTracesOptions {
  /** Default `api.trace.getTracer('incumbent')`: that of the tracer provider of the process. */
  readonly tracer?: Tracer | undefined;
  /**
   * A part of the ids of the traces, the same in all processes of an election. Set it if two
   * clusters with one namespace send their traces to one place. Default `''`.
   */
  readonly scope?: string | undefined;
  /**
   * Whether each acknowledged renewal of a leader is a span. Only then does the trace of a killed
   * leader have its last renewal. It is one span per election and third of a ttl. Default `false`:
   * a leader that is lost and lives sends its last renewal when it stops.
   */
  readonly renewals?: boolean | undefined;
  /** The clocks, in ms. For tests. */
  readonly clock?: TraceClock | undefined;
}

/** A lease of a member of this process. */
interface Lease {
  readonly keptMs: number;
  renewal: Renewal | undefined;
  suspect: { readonly atMs: number; readonly error: string } | undefined;
}

/** A member's part in one election. */
interface Part {
  readonly election: TracedElection;
  readonly member: string;
  notification: Notification | undefined;
  takeover: Takeover | undefined;
  leads: { readonly term: bigint; readonly lease: Lease | undefined; readonly takeover: SpanContext | undefined } | undefined;
  readonly stepDowns: Map<bigint, StepDown>;
}

/**
 * Makes a trace of each change of the leader that a member or observer of this process takes part
 * in. Create it before the first member.
 */
export class FailoverTraces {
  readonly #context: TraceContext;
  readonly #scope: string;
  readonly #renewals: boolean;
  readonly #leases = new Map<string, Lease>();
  readonly #parts = new Map<string, Part>();
  readonly #observed: ObservedElections;
  readonly #unsubscribe: () => void;

  /**
   * @param api The module `@opentelemetry/api`: `import * as api from '@opentelemetry/api'`.
   * @throws `INVALID_OPTION`
   */
  constructor(api: TracingApi, options: FailoverTracesOptions = {}) {
    checkApi(api);
    checkKnown('FailoverTraces', options, ['tracer', 'scope', 'renewals', 'clock']);
    const { scope = '', clock = systemClock } = options;
    if (typeof scope !== 'string') throw invalidOption('scope', scope, 'a text');
    const renewals = checkBoolean('renewals', options.renewals, false);
    const { tracer = api.trace.getTracer('incumbent') } = options;
    if (typeof tracer.startSpan !== 'function') throw invalidOption('tracer', tracer, 'a Tracer of @opentelemetry/api');
    this.#context = { api, tracer, clock };
    this.#scope = scope;
    this.#renewals = renewals;
    this.#observed = new ObservedElections(this.#context);
    this.#unsubscribe = onEvents(EVENTS, (event, fields) => this.#onEvent(event, fields));
  }

  /** Unsubscribes from the channels. Spans that have not ended are not exported. Idempotent. */
  close(): void {
    this.#unsubscribe();
    this.#leases.clear();
    this.#parts.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #onEvent(event: (typeof EVENTS)[number], fields: Fields): void {
    const now = this.#context.clock.monotonic();
    switch (event) {
      case 'sessionOpened':
        this.#leases.set(leaseKey(fields), { keptMs: numberOf(fields, 'expiresWithinMs'), renewal: undefined, suspect: undefined });
        return;
      case 'sessionRenewed':
        return this.#renewed(fields, now);
      case 'sessionSuspect':
        return this.#suspect(fields, now);
      case 'sessionRecovered':
        return this.#recovered(fields);
      case 'sessionEnded':
        // A part keeps its lease, so that `ended`, which comes next, can read it.
        this.#leases.delete(leaseKey(fields));
        return;
      case 'memberClosed':
        return this.#memberClosed(fields, now);
      case 'observed':
        return this.#observed.see(this.#electionOf(fields), fields, now);
      default:
        return this.#inElection(event, fields, now);
    }
  }

  #inElection(event: ElectionEvent, fields: Fields, now: number): void {
    const term = termOf(fields);
    const part = this.#part(fields);
    switch (event) {
      case 'waiting':
        return endTakeover(part, now);
      case 'left':
        return this.#leave(partKey(fields), part, now);
      case 'notified':
        part.notification = { atMs: now, why: textOf(fields, 'why'), waitedMs: numberOf(fields, 'waitedMs') };
        return;
      case 'claimed':
        return this.#claimed(part, fields, now);
      case 'elected':
        return this.#elected(part, fields, now);
      case 'workStarted':
        if (part.leads?.term === term) part.takeover?.workStarted(now);
        part.takeover = undefined;
        return;
      case 'ended':
        return this.#ended(part, fields, now);
      case 'drained':
        if (term !== undefined) part.stepDowns.get(term)?.drained(now, fields['stopped'] === true);
        return;
      case 'released':
        return this.#released(part, fields, term, now);
      default:
        return event satisfies never;
    }
  }

  #claimed(part: Part, fields: Fields, now: number): void {
    const [term, endedTerm] = [termOf(fields), termOf(fields, 'endedTerm')];
    if (term === undefined || endedTerm === undefined) return;
    const sentMs = now - numberOf(fields, 'tookMs');
    this.#takeover(part, endedTerm, sentMs, now).claimed({ sentMs, answeredMs: now, outcome: textOf(fields, 'outcome'), term });
  }

  #elected(part: Part, fields: Fields, now: number): void {
    const [term, previousTerm] = [termOf(fields), termOf(fields, 'previousTerm')];
    if (term === undefined) return;
    const lease = this.#leases.get(leaseKey(fields));
    const takeover = previousTerm === undefined ? undefined : this.#takeover(part, previousTerm, now, now);
    takeover?.elected(now, term, textOf(fields, 'previousReason'), lease?.keptMs);
    part.takeover = takeover;
    part.notification = undefined;
    part.leads = { term, lease, takeover: takeover?.spanContext };
  }

  #ended(part: Part, fields: Fields, now: number): void {
    const term = termOf(fields);
    if (term === undefined || part.leads?.term !== term) return;
    const { lease, takeover } = part.leads;
    part.leads = undefined;
    part.takeover?.givenUp(now);
    part.takeover = undefined;
    const { election, member } = part;
    const ending = {
      election,
      member,
      term,
      takeover,
      reason: textOf(fields, 'reason'),
      why: textOf(fields, 'why'),
      lost: fields['lost'] === true,
      sinceRenewalMs: numberOf(fields, 'sinceRenewalMs'),
      abortMs: numberOf(fields, 'abortMs'),
      drainMs: numberOf(fields, 'drainMs'),
      renewal: lease?.renewal,
      suspect: lease?.suspect,
      hasRenewalSpan: this.#renewals && lease?.renewal !== undefined,
    };
    part.stepDowns.set(term, new StepDown(this.#context, ending, now));
  }

  #released(part: Part, fields: Fields, term: bigint | undefined, now: number): void {
    if (term === undefined) return;
    part.stepDowns.get(term)?.released(now);
    part.stepDowns.delete(term);
    if (part.stepDowns.size > 0 || part.leads !== undefined || part.takeover !== undefined || part.notification !== undefined) return;
    this.#parts.delete(partKey(fields));
  }

  /** The attempt to succeed the leader of this term. Gives up one that was about another term. */
  #takeover(part: Part, endedTerm: bigint, startMs: number, now: number): Takeover {
    const present = part.takeover;
    if (present?.endedTerm === endedTerm) return present;
    present?.givenUp(now);
    const { election, member, notification } = part;
    part.takeover = new Takeover(this.#context, { election, member, endedTerm, notification, startMs });
    return part.takeover;
  }

  #renewed(fields: Fields, now: number): void {
    const lease = this.#leases.get(leaseKey(fields));
    if (lease === undefined) return;
    const renewal = { sentMs: now - numberOf(fields, 'tookMs'), acknowledgedMs: now };
    lease.renewal = renewal;
    if (!this.#renewals) return;
    for (const { election, member, leads } of this.#parts.values()) {
      if (leads?.lease !== lease) continue;
      const about = { election, endedTerm: leads.term, attributes: { 'incumbent.member': member } };
      FailoverSpan.start(this.#context, about, 'incumbent.renewal', renewal.sentMs).end(now);
    }
  }

  #suspect(fields: Fields, now: number): void {
    const lease = this.#leases.get(leaseKey(fields));
    if (lease !== undefined) lease.suspect = { atMs: now, error: errorOf(fields['error']) };
  }

  #recovered(fields: Fields): void {
    const lease = this.#leases.get(leaseKey(fields));
    if (lease !== undefined) lease.suspect = undefined;
  }

  /** A step-down that has not ended ends with `released`. */
  #memberClosed(fields: Fields, now: number): void {
    const incarnation = textOf(fields, 'incarnation');
    for (const [key, part] of this.#parts) {
      if (key.startsWith(`${incarnation} `)) this.#leave(key, part, now);
    }
  }

  #leave(key: string, part: Part, now: number): void {
    endTakeover(part, now);
    if (part.leads === undefined && part.stepDowns.size === 0) this.#parts.delete(key);
  }

  #part(fields: Fields): Part {
    const key = partKey(fields);
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const part: Part = {
      election: this.#electionOf(fields),
      member: textOf(fields, 'memberId'),
      notification: undefined,
      takeover: undefined,
      leads: undefined,
      stepDowns: new Map(),
    };
    this.#parts.set(key, part);
    return part;
  }

  #electionOf(fields: Fields): TracedElection {
    const [store, namespace, election] = [textOf(fields, 'store'), textOf(fields, 'namespace'), textOf(fields, 'election')];
    return { scope: this.#scope, store, namespace, election };
  }
}

/** Ends the attempt of a candidate that waits again, or waits no more. */
function endTakeover(part: Part, nowMs: number): void {
  part.takeover?.givenUp(nowMs);
  [part.takeover, part.notification] = [undefined, undefined];
}

const systemClock: TraceClock = { wall: () => Date.now(), monotonic: () => performance.now() };

function partKey(fields: Fields): string {
  return `${textOf(fields, 'incarnation')} ${textOf(fields, 'election')}`;
}

function checkApi(api: unknown): void {
  if (typeof api === 'object' && api !== null && 'trace' in api && 'ROOT_CONTEXT' in api) return;
  throw invalidOption('api', api, 'the module @opentelemetry/api (import * as api from it)');
}
