/** Runs a plan from its first event to the last, and collects what the checkers report. */

import { TwoLeadersChecker, type TwoLeadersRules } from '../check/two-leaders.ts';
import { ElectionFilter, type Checker, type Violation } from '../check/checker.ts';
import { LeftoverChecker } from '../check/leftovers.ts';
import { LivenessChecker } from '../check/liveness.ts';
import { ObserverChecker } from '../check/observers.ts';
import { LeadershipEndChecker, TelemetryPairChecker } from '../check/leadership-end.ts';
import { EventCounts } from '../check/event-counts.ts';
import { CalmStateChecker } from '../check/calm-state.ts';
import { RequestChecker } from '../check/requests.ts';
import { PublishChecker, ReplacedChecker, TermChecker } from '../check/terms.ts';
import type { Listener } from '../world/event.ts';
import { ELECTION, memberProgram } from '../programs/member-program.ts';
import { observerProgram } from '../programs/observer-program.ts';
import type { Fault } from '../plan/fault.ts';
import type { Plan } from '../plan/plan.ts';
import { profileOf } from '../plan/profiles.ts';
import { drive, type PromiseSettling } from '../time/settle.ts';
import { guarded } from '../time/forbid-globals.ts';
import { Livelock } from '../time/scheduler.ts';
import { World, type Programs } from '../world/world.ts';

/** The options of {@link run}. All have defaults. */
export interface RunOptions {
  readonly programs?: Partial<Programs>;
  /** Default `native`. */
  readonly settlePromises?: PromiseSettling;
  /** Receives every event, in addition to the checkers. */
  readonly listener?: Listener;
}

/** The result of a run. */
export interface Run {
  readonly plan: Plan;
  /** A hash of all events. It is the same for the same plan on every machine. */
  readonly hash: string;
  readonly violations: readonly Violation[];
  /** How often each event happened. */
  readonly counts: ReadonlyMap<string, number>;
  readonly figures: Figures;
}

/** The measured times and counts of a run. */
export interface Figures {
  readonly events: number;
  readonly simulatedMs: number;
  /** From the last fault until a member led, in ms. */
  readonly recoveredAfterMs: number | undefined;
  /** From the leader's crash, in calm, until another member led, in ms. */
  readonly failedOverAfterMs: number | undefined;
  /** Requests from the deletion of the leader's key until another member led. */
  readonly failoverRequests: number;
  readonly longestCloseMs: number;
  /** The longest time that two members were valid, where the profile allows it, in ms. */
  readonly longestOverlapMs: number;
}

/** A world that has not ended after this many events runs in a loop. */
const MAX_EVENTS = 3_000_000;

interface Checkers {
  readonly validity: TwoLeadersChecker;
  readonly liveness: LivenessChecker;
  readonly leftovers: LeftoverChecker;
  readonly all: readonly Checker[];
  /** The checkers, each behind the filter that selects its events. */
  readonly listeners: readonly Listener[];
  readonly eventCounts: EventCounts;
}

/**
 * Runs a plan. The same plan gives the same run. Never rejects because of what the plan does to the
 * world: this is a violation in the result.
 */
export async function run(plan: Plan, { programs, settlePromises = 'native', listener }: RunOptions = {}): Promise<Run> {
  const checkers = checkersOf(plan, programs, (atMs, task) => world.scheduler.observe(atMs, task));
  const listeners = [...checkers.listeners, ...(listener === undefined ? [] : [listener])];
  const world = new World(plan, { member: memberProgram, observer: observerProgram, ...programs }, listeners);
  const violations: Violation[] = [];
  const step = stepsOf(world);
  try {
    await drive(step, settlePromises, guarded);
  } catch (error) {
    if (!(error instanceof Livelock)) throw error;
    violations.push({ promise: 'the world goes on', atMs: world.scheduler.nowMs, what: error.message });
  }
  // If the programs report no leaderships, the leader is unknown.
  const isReported = programs?.member === undefined || checkers.eventCounts.counts.has('elected');
  const used = isReported ? checkers.all : checkers.all.filter((checker) => checker !== checkers.liveness);
  violations.push(...used.flatMap((checker) => checker.findings.all));
  const { scheduler, trace } = world;
  return { plan, hash: trace.hash, violations, counts: checkers.eventCounts.counts, figures: figuresOf(checkers, scheduler) };
}

function figuresOf({ liveness, leftovers, validity }: Checkers, { ran, nowMs }: World['scheduler']): Figures {
  return {
    events: ran,
    simulatedMs: nowMs,
    recoveredAfterMs: liveness.recoveredAfterMs,
    failedOverAfterMs: liveness.failedOverAfterMs,
    failoverRequests: liveness.requests,
    longestCloseMs: Math.round(leftovers.longestCloseMs),
    longestOverlapMs: validity.longestOverlapMs,
  };
}

/**
 * The longest time from a leader's crash to the next election, in ms. The lease expires, late, and
 * each following step may meet a slow message. Candidates that disagree wait for each other until
 * their claim timeouts.
 */
function failoverMs({ shape: { ttlMs, store, order, members } }: Plan, leaseMs: number = ttlMs * 1.03 + store.expiryLateMs): number {
  const claimTimeoutMs = order === 'disagree' ? ttlMs * (2 + members / 2) : 0;
  return Math.ceil(leaseMs + 2 * store.watchLagMs + 40 * store.latency.maxMs + ttlMs / 4 + claimTimeoutMs);
}

/** The longest interval at which a candidate near the leader checks for itself, in ttls. */
const CHECK_TTLS = 3.75;
/** The longest time until every observer has checked for itself, in ms. */
const OBSERVERS_CHECK_MS = 20_000;

/**
 * The longest time until a client has left a hung server twice in a row and its watches work again,
 * in ms.
 */
const LEFT_TWICE_MS = 2_500;
/** The longest time that a successor's calls to a hung server take, in ttls. */
const SICK_CALLS_TTLS = 1.5;
/** The longest time that calls wait after a hung server has recovered, in ttls. */
const WELL_TTLS = 2.5;

/**
 * The longest time from the leader's crash to the next election of a plan, in ms. Where watches are
 * silent, the candidates near the leader must first check for themselves.
 */
function successionMs(plan: Plan): number {
  const { ttlMs, reaperLagMs, silentFailover = false, sickFailover } = plan.shape;
  const silentMs = silentFailover ? ttlMs * CHECK_TTLS * 1.02 : 0;
  const sickMs = sickFailover === undefined ? 0 : LEFT_TWICE_MS + ttlMs * SICK_CALLS_TTLS;
  // The reaper of a leader that has died does not wait for the ttl.
  return Math.ceil(failoverMs(plan, reaperLagMs) + silentMs + sickMs);
}

/**
 * The time from the leader's crash until all programs are asked to stop, in ms. If watches are
 * silent, observers have checked for themselves by then.
 */
function afterCrashMs(plan: Plan): number {
  const { ttlMs, observers, silentFailover = false, sickFailover } = plan.shape;
  const wellMs = ttlMs * (sickFailover === undefined ? 1 : WELL_TTLS);
  return Math.max(failoverMs(plan), successionMs(plan)) + wellMs + (silentFailover && observers > 0 ? OBSERVERS_CHECK_MS : 0);
}

/** In every other world the leader is cut off while its record is deleted. */
function isBlinded({ seed }: Plan): boolean {
  return seed % 2 === 1;
}

/**
 * How long a leader whose record was deleted may continue, in ms: until its watch reports the
 * deletion or, if it is cut off, until its deadline.
 */
function noticeMs(plan: Plan): number {
  const { ttlMs, store } = plan.shape;
  return isBlinded(plan) ? ttlMs * 1.03 : store.watchLagMs + 8 * store.latency.maxMs + 100;
}

/** The longest time from a change of the leader's record until every observer shows it, in ms. */
function shownMs({ shape: { store } }: Plan): number {
  return store.watchLagMs + 24 * store.latency.maxMs + 100;
}

/**
 * The longest time until the next election after the deletion, in ms. The former leader stops,
 * drains and leaves first. Any candidate may be next.
 */
function deposedMs(plan: Plan): number {
  const { ttlMs, drainMs } = plan.shape;
  const untilGoneMs = isBlinded(plan) ? ttlMs : 2 * noticeMs(plan) + drainMs * 1.02;
  return Math.ceil(untilGoneMs + ttlMs / 2) + failoverMs(plan) - ttlMs;
}

/**
 * The most requests of a failover. By arrival, each candidate waits for the one ahead of it, so one
 * candidate wakes. After a handover by name two wake: the first in line, and the candidate behind
 * the successor. A candidate whose claim came too late then waits for the record. By rank, all
 * candidates that came between two others wait for the same entry, so each of them may check (2
 * requests) and clean up (2), and the one that claims may have to read back and claim again. If
 * watches are silent, several may check, too. If a server hangs, calls are repeated.
 */
function failoverRequests({ shape: { order, members, unrest, silentFailover = false, sickFailover }, faults }: Plan): number {
  if (sickFailover !== undefined) return Infinity;
  if (order === 'arrival' && !silentFailover) return unrest === 0 && faults.length === 0 ? 3 : 5;
  return order === 'disagree' ? Infinity : 4 + 4 * members;
}

function checkersOf(plan: Plan, programs: Partial<Programs> | undefined, at: NonNullable<TwoLeadersRules['at']>): Checkers {
  const isUsual = programs?.member === undefined;
  const { ttlMs, drainMs, recoveryMs } = plan.shape;
  const validity = new TwoLeadersChecker({ overlapMs: profileOf(plan.profile).overlapMs(plan.shape), at });
  const liveness = new LivenessChecker({
    recoveryMs,
    noticeMs: noticeMs(plan),
    deposedMs: deposedMs(plan),
    failoverMs: successionMs(plan),
    failoverRequests: failoverRequests(plan),
    byArrival: plan.shape.order === 'arrival',
  });
  const leftovers = new LeftoverChecker({ closeMs: 2 * drainMs + 5 * (ttlMs / 4) + 200 });
  const election = isUsual ? ELECTION : undefined;
  const ofAny = [
    validity,
    new TermChecker({ writes: election, areCounted: isUsual && !plan.faults.some(losesTerms) }),
    new ReplacedChecker(),
    new LeadershipEndChecker({ drainMs, unnoticedMs: ttlMs / 10 }),
    new TelemetryPairChecker(),
    leftovers,
  ];
  // Only the default program of members does what these checkers expect.
  const ofOne = [
    new ObserverChecker({ lagMs: shownMs(plan), comparesValues: isUsual && programs?.observer === undefined }),
    new PublishChecker(),
    ...(isUsual ? [new CalmStateChecker(ELECTION), new RequestChecker()] : []),
    liveness,
  ];
  const filtered = election === undefined ? ofOne : ofOne.map((checker) => new ElectionFilter(election, checker));
  const eventCounts = new EventCounts(election);
  return { validity, liveness, leftovers, all: [...ofAny, ...ofOne], listeners: [...ofAny, ...filtered, eventCounts], eventCounts };
}

/** Whether the store may lose terms that it has issued. The simulated store counts all others. */
function losesTerms(fault: Fault): boolean {
  return fault.kind === 'wipe' || (fault.kind === 'failover' && (fault.lostMs ?? 0) > 0);
}

/** This long after a leader is due, the state is final, in ttls. */
const SETTLED_TTLS = 0.1;

/**
 * A phase of the world. It begins `afterMs` after the previous one. `quietly`: it is postponed
 * while leadership passes from one member to another.
 */
interface Step {
  readonly afterMs: number;
  readonly quietly?: boolean;
  enter(): void;
}

function phasesOf(world: World): readonly Step[] {
  const { shape, plan } = world;
  const { ttlMs, stormMs, recoveryMs, store, silentConnections = false } = shape;
  const [settledMs, calmMs] = [recoveryMs + ttlMs * SETTLED_TTLS, recoveryMs + 2 * ttlMs];
  const silence: readonly Step[] = silentConnections ? [{ afterMs: settledMs, enter: () => world.silenceConnections() }] : [];
  return [
    { afterMs: stormMs, enter: () => world.calmDown() },
    ...silence,
    {
      afterMs: silentConnections ? calmMs - settledMs : calmMs,
      quietly: true,
      enter: () => world.depose(isBlinded(plan) ? deposedMs(plan) : undefined),
    },
    { afterMs: deposedMs(plan) + 3 * ttlMs, quietly: true, enter: () => world.crashLeader(successionMs(plan)) },
    { afterMs: afterCrashMs(plan), enter: () => world.close() },
    { afterMs: 9 * ttlMs + store.expiryLateMs, enter: () => world.finish() },
  ];
}

/** After this time a handover is over, and all members have learned of it. */
const QUIET_MS = 2_000;
/**
 * If leadership passes from member to member all the time, the phase begins after this many
 * postponements.
 */
const MAX_POSTPONED = 20;

/** Enters one phase after the other, and calls `over` after the last one. */
function goThrough(world: World, [next, ...rest]: readonly Step[], over: () => void, postponed = 0): void {
  if (next === undefined) return over();
  const afterMs = postponed === 0 ? next.afterMs : QUIET_MS;
  world.scheduler.after(afterMs, () => {
    if (next.quietly === true && world.quietMs < QUIET_MS && postponed < MAX_POSTPONED)
      return goThrough(world, [next, ...rest], over, postponed + 1);
    next.enter();
    return goThrough(world, rest, over);
  });
}

/**
 * Takes the world through its phases. Each call runs one event, and returns false after the last
 * one.
 */
function stepsOf(world: World): () => boolean {
  const { scheduler } = world;
  let over = false;
  goThrough(world, phasesOf(world), () => {
    over = true;
  });
  world.begin();
  return () => {
    if (scheduler.ran > MAX_EVENTS) throw new Livelock(`${MAX_EVENTS} events, and no end`);
    if (over || !scheduler.step()) return false;
    world.trace.step(scheduler.nowMs, scheduler.order);
    return true;
  };
}
