/** The present state of this process's members and observers, from the events on their channels. */

import type { TelemetryEvent } from '@incumbent/core';
import { type Fields, leaseKey, newestTermBefore, numberOf, termOf, textOf } from '../events.ts';
import { lockMembers } from '../lock-members.ts';

/** The events that the monitor subscribes to. */
export const MONITORED = [
  'joined',
  'left',
  'elected',
  'ended',
  'stuck',
  'unstuck',
  'sessionOpened',
  'sessionRenewed',
  'sessionSuspect',
  'sessionKept',
  'sessionEnded',
  'memberClosed',
  'retry',
  'loopLag',
  'observed',
] as const;

/** One of these events. */
export type MonitoredEvent = (typeof MONITORED)[number] & TelemetryEvent;

/** The labels of a metric, such as the member and the election. */
export type Labels = Readonly<Record<string, string>>;

/** A member's lease. Times are on the monotonic clock, in ms. */
export interface Lease {
  readonly labels: Labels;
  /** When the last acknowledged renewal was sent. */
  renewedAtMs: number;
  validUntilMs: number;
  /** Since when a renewal is overdue; undefined if none is. */
  suspectSinceMs: number | undefined;
}

/** A member's participation in one election, until the member closes. */
export interface Part {
  readonly labels: Labels;
  /** The incarnation of the member; undefined if it has closed, and its work has not stopped. */
  incarnation: string | undefined;
  /**
   * Whether the member is in the queue of the election, as its leader or waiting to lead. Undefined
   * for a lock, which needs no other candidate, and for a member that has not joined a queue, as
   * members without a store never do.
   */
  inQueue: boolean | undefined;
  /** The term and the lease of its leadership; undefined if it does not lead. */
  leads: { readonly term: bigint; readonly lease: string } | undefined;
  /** Terms whose work continues past the drain, and since when. */
  readonly stuckSinceMs: Map<bigint, number>;
}

/** An election, as observers of this process see it. All of them share its state. */
export interface Observed {
  readonly labels: Labels;
  /** How many observers are open. */
  observers: number;
  state: string;
  term: bigint | undefined;
  /** The newest term of a leader that was shown, since the store has last lost terms. */
  ledTerm: bigint;
  sinceMs: number;
  /** The total length of all vacancies, without the present one. */
  vacantMs: number;
}

/** Counts events by their labels. */
export class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; count: number }>();

  add(labels: Labels): void {
    const key = keyOf(labels);
    const before = this.#counts.get(key);
    if (before === undefined) this.#counts.set(key, { labels, count: 1 });
    else before.count += 1;
  }

  get all(): readonly { readonly labels: Labels; readonly count: number }[] {
    return [...this.#counts.values()];
  }
}

/** What the events so far add up to. `record` takes each event. */
export class State {
  readonly leases: Map<string, Lease> = new Map<string, Lease>();
  readonly parts: Map<string, Part> = new Map<string, Part>();
  readonly observed: Map<string, Observed> = new Map<string, Observed>();
  readonly observedChanges: Counter = new Counter();
  readonly elected: Counter = new Counter();
  readonly ended: Counter = new Counter();
  readonly sessionsEnded: Counter = new Counter();
  readonly retries: Counter = new Counter();
  readonly loopLags: Counter = new Counter();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get nowMs(): number {
    return this.#now();
  }

  /**
   * Whether the member leads and the store certainly keeps its lease. False after a pause of the
   * process that outlasted the lease, even before the leadership's end is reported.
   */
  isLeading({ leads }: Part): boolean {
    const lease = leads === undefined ? undefined : this.leases.get(leads.lease);
    return lease !== undefined && lease.validUntilMs > this.nowMs;
  }

  /** Whether the lease of this event is known, because an earlier event has told of it. */
  hasLease(fields: Fields): boolean {
    return this.leases.has(leaseKey(fields));
  }

  record(event: MonitoredEvent, fields: Fields): void {
    const [lease, store, counted] = [leaseKey(fields), storeOf(fields), countedAs(fields)];
    const member = { ...store, member: textOf(fields, 'memberId') };
    switch (event) {
      case 'joined':
        return this.#joined(store, fields);
      case 'left':
        return this.#left({ ...store, election: textOf(fields, 'election'), member: member.member }, textOf(fields, 'incarnation'));
      case 'sessionOpened':
        return this.#renewed(lease, member, fields, 0);
      case 'sessionRenewed':
        return this.#renewed(lease, member, fields, numberOf(fields, 'tookMs'));
      case 'sessionSuspect':
        return this.#suspect(lease);
      case 'sessionKept':
        return this.#kept(lease, numberOf(fields, 'validForMs'));
      case 'sessionEnded':
        this.leases.delete(lease);
        return this.sessionsEnded.add({ ...counted, reason: textOf(fields, 'reason') });
      case 'memberClosed':
        return this.#memberClosed(textOf(fields, 'incarnation'));
      case 'retry':
        return this.retries.add(counted);
      case 'loopLag':
        return this.loopLags.add(counted);
      case 'observed':
        return this.#observed({ ...store, election: textOf(fields, 'election') }, fields);
      default:
        return this.#inElection(event, { ...store, election: textOf(fields, 'election') }, fields);
    }
  }

  #inElection(event: 'elected' | 'ended' | 'stuck' | 'unstuck', election: Labels, fields: Fields): void {
    const term = termOf(fields);
    if (term === undefined) return;
    const labels = { ...election, member: textOf(fields, 'memberId') };
    const counted = { ...election, member: countedMember(fields) };
    // Undefined after the member has closed.
    const part = this.parts.get(keyOf(labels));
    switch (event) {
      case 'elected':
        this.#joinedAs(labels, fields).leads = { term, lease: leaseKey(fields) };
        return this.elected.add(counted);
      case 'ended':
        if (part?.leads?.term === term) {
          part.leads = undefined;
          leaveQueue(part);
        }
        return this.ended.add({ ...counted, reason: textOf(fields, 'reason'), lost: String(fields['lost'] === true) });
      case 'stuck':
        (part ?? this.#part(labels)).stuckSinceMs.set(term, this.nowMs);
        return undefined;
      case 'unstuck':
        if (part === undefined) return undefined;
        part.stuckSinceMs.delete(term);
        if (part.incarnation === undefined && part.stuckSinceMs.size === 0) this.parts.delete(keyOf(labels));
        return undefined;
      default:
        return event satisfies never;
    }
  }

  #joined(store: Labels, fields: Fields): void {
    const election = /^elections\/([^/]+)\//.exec(textOf(fields, 'key'))?.[1];
    if (election === undefined) return;
    const part = this.#joinedAs({ ...store, election, member: textOf(fields, 'memberId') }, fields);
    if (!isLock(fields)) part.inQueue = true;
  }

  #left(labels: Labels, incarnation: string): void {
    const part = this.parts.get(keyOf(labels));
    if (part?.incarnation === incarnation) leaveQueue(part);
  }

  #joinedAs(labels: Labels, fields: Fields): Part {
    const part = this.#part(labels);
    part.incarnation = textOf(fields, 'incarnation');
    return part;
  }

  /** Forgets a member that has closed, except for its work that continues. */
  #memberClosed(incarnation: string): void {
    for (const [key, part] of this.parts) {
      if (part.incarnation !== incarnation) continue;
      part.incarnation = undefined;
      leaveQueue(part);
      if (part.stuckSinceMs.size === 0) this.parts.delete(key);
    }
  }

  #renewed(lease: string, labels: Labels, fields: Fields, tookMs: number): void {
    const now = this.nowMs;
    this.leases.set(lease, {
      labels,
      renewedAtMs: now - tookMs,
      validUntilMs: now + numberOf(fields, 'validForMs'),
      suspectSinceMs: undefined,
    });
  }

  #suspect(lease: string): void {
    const known = this.leases.get(lease);
    if (known !== undefined) known.suspectSinceMs ??= this.nowMs;
  }

  #kept(lease: string, validForMs: number): void {
    const known = this.leases.get(lease);
    if (known !== undefined) known.validUntilMs = this.nowMs + validForMs;
  }

  #observed(labels: Labels, fields: Fields): void {
    const [key, state] = [keyOf(labels), textOf(fields, 'state')];
    const seen = this.observed.get(key) ?? this.#firstObserved(labels);
    this.observed.set(key, seen);
    if (state === 'opened') seen.observers += 1;
    else if (state !== 'closed') this.#saw(seen, state, fields);
    else if (seen.observers > 1) seen.observers -= 1;
    else this.observed.delete(key);
  }

  #firstObserved(labels: Labels): Observed {
    return { labels, observers: 0, state: 'unknown', term: undefined, ledTerm: 0n, sinceMs: this.nowMs, vacantMs: 0 };
  }

  #saw(seen: Observed, state: string, fields: Fields): void {
    const now = this.nowMs;
    if (seen.state === 'vacant' && state !== 'vacant') seen.vacantMs += now - seen.sinceMs;
    if (seen.state !== state) seen.sinceMs = now;
    seen.state = state;
    const term = termOf(fields);
    seen.ledTerm = newestTermBefore(fields, seen.ledTerm);
    // Observers of one election that show the same change count it once.
    if (state === 'leader' && term !== undefined && seen.ledTerm < term) {
      if (seen.term !== undefined) this.observedChanges.add({ ...seen.labels, reason: reasonOf(fields['previous']) });
      seen.ledTerm = term;
    }
    seen.term = term ?? seen.term;
  }

  #part(labels: Labels): Part {
    const key = keyOf(labels);
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const part: Part = { labels, incarnation: undefined, inQueue: undefined, leads: undefined, stuckSinceMs: new Map() };
    this.parts.set(key, part);
    return part;
  }
}

function leaveQueue(part: Part): void {
  if (part.inQueue === true) part.inQueue = false;
}

/** The labels of a store. A process may have two stores of one kind, with different namespaces. */
function storeOf(fields: Fields): Labels {
  const store = textOf(fields, 'store');
  const namespace = textOf(fields, 'namespace');
  return namespace === '' ? { store } : { store, namespace };
}

/** The labels of a counter of a member. */
export function countedAs(fields: Fields): Labels {
  return { ...storeOf(fields), member: countedMember(fields) };
}

/** The member's label in counters: one for all locks, because each lock has a member of its own. */
function countedMember(fields: Fields): string {
  return isLock(fields) ? 'lock' : textOf(fields, 'memberId');
}

function isLock(fields: Fields): boolean {
  return lockMembers.has(textOf(fields, 'incarnation'));
}

/** A key for the labels of a metric, whose names are always the same. */
export function keyOf(labels: Labels): string {
  return JSON.stringify(Object.values(labels));
}

/** Why the term before a leader's ended. The leader's record may lack it. */
function reasonOf(previous: unknown): string {
  const reason = typeof previous === 'object' && previous !== null && 'reason' in previous ? previous.reason : undefined;
  return typeof reason === 'string' ? reason : 'unknown';
}
