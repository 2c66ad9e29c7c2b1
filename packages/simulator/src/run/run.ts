/** One run: a plan, from its first event to the last, and what the checkers say of it. */

import { TwoLeadersChecker } from '../check/two-leaders.ts';
import { ElectionFilter, type Checker, type Violation } from '../check/checker.ts';
import { LeftoverChecker } from '../check/leftovers.ts';
import { LivenessChecker } from '../check/liveness.ts';
import { ObserverChecker } from '../check/observers.ts';
import { LeadershipEndChecker, TelemetryPairChecker } from '../check/leadership-end.ts';
import { EventCounts } from '../check/event-counts.ts';
import { CalmStateChecker } from '../check/calm-state.ts';
import { PublishChecker, TermChecker } from '../check/terms.ts';
import type { Listener } from '../world/event.ts';
import { ELECTION, memberProgram } from '../programs/member-program.ts';
import { observerProgram } from '../programs/observer-program.ts';
import type { Plan } from '../plan/plan.ts';
import { profileOf } from '../plan/profiles.ts';
import { drive, type PromiseSettling } from '../time/settle.ts';
import { guarded } from '../time/forbid-globals.ts';
import { Livelock } from '../time/scheduler.ts';
import { World, type Programs } from '../world/world.ts';

export interface RunOptions {
  readonly programs?: Partial<Programs>;
  /** Default `native`. */
  readonly settlePromises?: PromiseSettling;
  /** Hears of everything, besides the checkers. */
  readonly listener?: Listener;
}

/** What a run came to. */
export interface Run {
  readonly plan: Plan;
  /** The same for the same plan, on every machine. */
  readonly hash: string;
  readonly violations: readonly Violation[];
  /** What has happened, and how often. */
  readonly counts: ReadonlyMap<string, number>;
  readonly figures: Figures;
}

export interface Figures {
  readonly events: number;
  readonly simulatedMs: number;
  /** From the last fault until somebody led. */
  readonly recoveredAfterMs: number | undefined;
  /** From the leader's crash, in calm, until another led. */
  readonly failedOverAfterMs: number | undefined;
  /** From the leader's key gone until then. */
  readonly failoverRequests: number;
  readonly longestCloseMs: number;
  /** How long two believed, where that is excused. */
  readonly longestOverlapMs: number;
}

/** A world that has not come to its end by then goes round in circles. */
const MAX_EVENTS = 3_000_000;

interface Checkers {
  readonly belief: TwoLeadersChecker;
  readonly liveness: LivenessChecker;
  readonly leftovers: LeftoverChecker;
  readonly all: readonly Checker[];
  /** Those, each told what it can judge. */
  readonly listeners: readonly Listener[];
  readonly eventCounts: EventCounts;
}

/** Runs a plan. Never rejects on what the plan does to the world: that is a violation. */
export async function run(plan: Plan, { programs, settlePromises = 'native', listener }: RunOptions = {}): Promise<Run> {
  const checkers = checkersOf(plan, programs?.member === undefined);
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
  // Who leads is not known where programs do not tell.
  const isReported = programs?.member === undefined || checkers.eventCounts.counts.has('elected');
  const used = isReported ? checkers.all : checkers.all.filter((checker) => checker !== checkers.liveness);
  violations.push(...used.flatMap((checker) => checker.findings.all));
  const { scheduler, trace } = world;
  return { plan, hash: trace.hash, violations, counts: checkers.eventCounts.counts, figures: figuresOf(checkers, scheduler) };
}

function figuresOf({ liveness, leftovers, belief }: Checkers, { ran, nowMs }: World['scheduler']): Figures {
  return {
    events: ran,
    simulatedMs: nowMs,
    recoveredAfterMs: liveness.recoveredAfterMs,
    failedOverAfterMs: liveness.failedOverAfterMs,
    failoverRequests: liveness.requests,
    longestCloseMs: Math.round(leftovers.longestCloseMs),
    longestOverlapMs: belief.longestOverlapMs,
  };
}

/** The lease runs out, late; then each step may meet a slow message. Candidates that disagree wait for one another until their claim timeouts. */
function failoverMs({ shape: { ttlMs, store, order, members } }: Plan, leaseMs: number = ttlMs * 1.03 + store.expiryLateMs): number {
  const claimTimeoutMs = order === 'disagree' ? ttlMs * (2 + members / 2) : 0;
  return Math.ceil(leaseMs + 2 * store.watchLagMs + 40 * store.latency.maxMs + ttlMs / 4 + claimTimeoutMs);
}

/** How seldom, at the most, a candidate near the leader looks for itself, in ttls. */
const CHECK_TTLS = 3.75;
/** How often, at the most, observers look for themselves, in ms; until they have. */
const OBSERVERS_CHECK_MS = 20_000;

/** How long it takes until a client has left a sick server, twice in a row, and its watches tell again. */
const LEFT_TWICE_MS = 2_500;
/** How long the calls of a successor take at most that go to a sick server, in ttls. */
const SICK_CALLS_TTLS = 1.5;
/** After a sick server is well again, nothing that waited for it is left by then, in ttls. */
const WELL_TTLS = 2.5;

/** How long a crashed leader may go without a successor: where watches are silent, until those near it look for themselves. */
function successionMs(plan: Plan): number {
  const { ttlMs, reaperLagMs, silentFailover = false, sickFailover } = plan.shape;
  const silentMs = silentFailover ? ttlMs * CHECK_TTLS * 1.02 : 0;
  const sickMs = sickFailover === undefined ? 0 : LEFT_TWICE_MS + ttlMs * SICK_CALLS_TTLS;
  // Of a leader that has died: its reaper does not wait for the ttl.
  return Math.ceil(failoverMs(plan, reaperLagMs) + silentMs + sickMs);
}

/** From the leader's crash until everybody is asked to stop: in silence, observers have looked by then. */
function afterCrashMs(plan: Plan): number {
  const { ttlMs, observers, silentFailover = false, sickFailover } = plan.shape;
  const wellMs = ttlMs * (sickFailover === undefined ? 1 : WELL_TTLS);
  return Math.max(failoverMs(plan), successionMs(plan)) + wellMs + (silentFailover && observers > 0 ? OBSERVERS_CHECK_MS : 0);
}

/** In every other world the leader is cut off while its record is deleted. */
function isBlinded({ seed }: Plan): boolean {
  return seed % 2 === 1;
}

/** How long a leader may go on whose record somebody deleted: until its watch tells, or cut off, until its deadline. */
function noticeMs(plan: Plan): number {
  const { ttlMs, store } = plan.shape;
  return isBlinded(plan) ? ttlMs * 1.03 : store.watchLagMs + 8 * store.latency.maxMs + 100;
}

/** Until another leads: the former one stops, drains and leaves; then it may be any candidate's turn. */
function deposedMs(plan: Plan): number {
  const { ttlMs, drainMs } = plan.shape;
  const untilGoneMs = isBlinded(plan) ? ttlMs : 2 * noticeMs(plan) + drainMs * 1.02;
  return Math.ceil(untilGoneMs + ttlMs / 2) + failoverMs(plan) - ttlMs;
}

/**
 * By arrival, each waits for the one ahead: one of them wakes. After a handover by name two do: the first in line, and who stands behind the successor; after a
 * claim that came too late, who made it waits for the record. By rank, all who came between two others wait for the same one, so that each of them may look (2)
 * and hunt (2); and who claims may have to read back, and claim again. In silence, too, several may look. Where a server is sick, calls are made again.
 */
function failoverRequests({ shape: { order, members, unrest, silentFailover = false, sickFailover }, faults }: Plan): number {
  if (sickFailover !== undefined) return Infinity;
  if (order === 'arrival' && !silentFailover) return unrest === 0 && faults.length === 0 ? 3 : 5;
  return order === 'disagree' ? Infinity : 4 + 4 * members;
}

function checkersOf(plan: Plan, isUsual: boolean): Checkers {
  const { ttlMs, drainMs, recoveryMs } = plan.shape;
  const belief = new TwoLeadersChecker({ overlapMs: profileOf(plan.profile).overlapMs(plan.shape) });
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
    belief,
    new TermChecker(election),
    new LeadershipEndChecker({ drainMs, unnoticedMs: ttlMs / 10 }),
    new TelemetryPairChecker(),
    leftovers,
  ];
  // What members of the usual program do, no other is asked to.
  const ofOne = [new ObserverChecker(), new PublishChecker(), ...(isUsual ? [new CalmStateChecker(ELECTION)] : []), liveness];
  const filtered = election === undefined ? ofOne : ofOne.map((checker) => new ElectionFilter(election, checker));
  const eventCounts = new EventCounts(election);
  return { belief, liveness, leftovers, all: [...ofAny, ...ofOne], listeners: [...ofAny, ...filtered, eventCounts], eventCounts };
}

/** All is as it will be so long after there has to be a leader, in ttls. */
const SETTLED_TTLS = 0.1;

/** One phase: so long after the one before, and `quietly`: not while leadership is just passing from one to another. */
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

/** A handover, told to everybody, is over by then. */
const QUIET_MS = 2_000;
/** Where leadership passes on and on, what is checked then is checked all the same. */
const MAX_POSTPONED = 20;

/** Enters one phase after the other; calls `over` after the last. */
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

/** Lets the world go through its phases; each call is one event. */
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
