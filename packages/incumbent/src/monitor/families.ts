/** The metrics with their names, kinds and help texts, for Prometheus and OpenTelemetry. */

import { type Counter, keyOf, type Labels, type Lease, type Observed, type State } from './state.ts';

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** The metrics of one name. */
export interface Family {
  /** Words separated by dots; the exporters convert it. */
  readonly name: string;
  readonly kind: 'gauge' | 'counter';
  /** `s` for seconds; absent for counts. */
  readonly unit?: 's';
  readonly help: string;
  read(state: State): readonly Sample[];
}

/** The duration of acknowledged renewals, the only histogram. */
export const renewals = {
  name: 'incumbent.session.renewal',
  help: 'How long acknowledged renewals of the lease took',
  bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
} as const;

/** All metrics besides the histogram. */
export const families: readonly Family[] = [
  {
    name: 'incumbent.leader',
    kind: 'gauge',
    help: '1 while this member leads the election and its lease is certainly kept, else 0',
    read: (state) =>
      [...state.parts.values()].flatMap((part) => {
        // A member of the peer package has no lease that would show whether it leads.
        if (part.labels['store'] === '') return [];
        return [{ labels: part.labels, value: state.isLeading(part) ? 1 : 0 }];
      }),
  },
  {
    name: 'incumbent.candidate',
    kind: 'gauge',
    help: '1 while this member is in the queue of the election, as its leader or waiting to lead, else 0',
    read: (state) =>
      [...state.parts.values()].flatMap(({ labels, inQueue }) => (inQueue === undefined ? [] : [{ labels, value: inQueue ? 1 : 0 }])),
  },
  {
    name: 'incumbent.term',
    kind: 'gauge',
    help: 'The term in which this member leads',
    read: (state) =>
      [...state.parts.values()].flatMap((part) =>
        part.leads !== undefined && state.isLeading(part) ? [{ labels: part.labels, value: Number(part.leads.term) }] : [],
      ),
  },
  {
    name: 'incumbent.stuck',
    kind: 'gauge',
    help: 'Terms of this member that have ended and whose work continues',
    read: (state) => [...state.parts.values()].map(({ labels, stuckSinceMs }) => ({ labels, value: stuckSinceMs.size })),
  },
  counted('incumbent.elected', 'Elections won', (state) => state.elected),
  counted('incumbent.ended', 'Leaderships ended, by reason; lost: not given up', (state) => state.ended),
  {
    name: 'incumbent.session.age',
    kind: 'gauge',
    unit: 's',
    help: 'Time since the last acknowledged renewal of the lease was sent',
    read: (state) => worstLeases(state, ({ renewedAtMs }) => seconds(state.nowMs - renewedAtMs), Math.max),
  },
  {
    name: 'incumbent.session.validity',
    kind: 'gauge',
    unit: 's',
    help: 'How long this member may lead without another renewal',
    read: (state) => worstLeases(state, ({ validUntilMs }) => seconds(Math.max(validUntilMs - state.nowMs, 0)), Math.min),
  },
  {
    name: 'incumbent.session.suspect',
    kind: 'gauge',
    help: '1 while a renewal of the lease is overdue, else 0',
    read: (state) => worstLeases(state, ({ suspectSinceMs }) => (suspectSinceMs === undefined ? 0 : 1), Math.max),
  },
  counted('incumbent.session.ended', 'Leases ended, by reason', (state) => state.sessionsEnded),
  counted('incumbent.retries', 'Calls to the store that failed and were tried again', (state) => state.retries),
  counted('incumbent.loop.lags', 'Times that the event loop was blocked for over a tenth of the ttl', (state) => state.loopLags),
  {
    name: 'incumbent.observed',
    kind: 'gauge',
    help: 'What an observer in this process sees: 1 for the present state of the election',
    read: (state) =>
      [...state.observed.values()].flatMap(({ labels, state: now }) =>
        ['leader', 'vacant', 'unknown'].map((each) => ({ labels: { ...labels, state: each }, value: each === now ? 1 : 0 })),
      ),
  },
  {
    name: 'incumbent.observed.term',
    kind: 'gauge',
    help: 'The newest term that an observer in this process has seen',
    read: (state) =>
      [...state.observed.values()].flatMap(({ labels, term }) => (term === undefined ? [] : [{ labels, value: Number(term) }])),
  },
  counted(
    'incumbent.observed.changes',
    'Changes of the leader that an observer in this process has seen, by the reason for which the term before ended',
    (state) => state.observedChanges,
  ),
  {
    name: 'incumbent.vacancy',
    kind: 'gauge',
    unit: 's',
    help: 'How long the store has had no record of a leader, as an observer in this process sees it; 0 otherwise',
    read: (state) => [...state.observed.values()].map((seen) => ({ labels: seen.labels, value: seconds(vacantNowMs(seen, state)) })),
  },
  {
    name: 'incumbent.vacant',
    kind: 'counter',
    unit: 's',
    help: 'Total time in which the store had no record of a leader, as an observer in this process sees it',
    read: (state) =>
      [...state.observed.values()].map((seen) => ({ labels: seen.labels, value: seconds(seen.vacantMs + vacantNowMs(seen, state)) })),
  },
];

function counted(name: string, help: string, of: (state: State) => Counter): Family {
  return { name, kind: 'counter', help, read: (state) => of(state).all.map(({ labels, count }) => ({ labels, value: count })) };
}

/** One sample for each member, which may have several leases: the value of its worst lease. */
function worstLeases(state: State, valueOf: (lease: Lease) => number, worse: (a: number, b: number) => number): readonly Sample[] {
  const samples = new Map<string, Sample>();
  for (const lease of state.leases.values()) {
    const { labels } = lease;
    const [key, value] = [keyOf(labels), valueOf(lease)];
    samples.set(key, { labels, value: worse(samples.get(key)?.value ?? value, value) });
  }
  return [...samples.values()];
}

function vacantNowMs({ state: now, sinceMs }: Observed, { nowMs }: State): number {
  return now === 'vacant' ? nowMs - sinceMs : 0;
}

function seconds(ms: number): number {
  return ms / 1_000;
}
