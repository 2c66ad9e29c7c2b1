/** Draws plans at random: shapes, and faults one by one. */

import type { Fault, FaultKind, FaultAction, Target, When } from './fault.ts';
import type { Shape } from './plan.ts';
import type { StoreShape } from '../store/shape.ts';
import type { Stream } from '../time/random.ts';

/** What a fault is drawn for. */
export interface Draw {
  readonly random: Stream;
  readonly shape: Shape;
  readonly when: When;
  /** The target of the fault, if the kind has one. */
  readonly target: Target;
  /**
   * Processes that may be suspended. Only the wall clocks of the others may be set back, because no
   * process can notice both within one renewal.
   */
  readonly sleepers: readonly string[];
  /** Whether any process may be suspended and have its clock set back. */
  readonly anyClocks: boolean;
}

function storeShape(random: Stream, ttlMs: number): StoreShape {
  const assignableLease = random.chance(0.5);
  return {
    assignableLease,
    revisionsSurviveDeletion: assignableLease || random.chance(0.3),
    expiryLateMs: random.pick([0, 20, 500, Math.round(ttlMs / 3)]),
    rate: 1 + random.pick([-1, 0, 1]) * 0.0099,
    acknowledges: random.chance(0.25) ? 'previous' : 'renewal',
    latency: random.pick([
      { minMs: 1, maxMs: 5 },
      { minMs: 0, maxMs: 40 },
      { minMs: 20, maxMs: 90 },
    ]),
    watchLagMs: random.pick([0, 0, 30, 400]),
    repeatRatio: random.pick([0, 0.05, 0.3]),
    // A member binds its id, two keys of an election and one of a group to a lease.
    keysPerLease: random.pick([2, 3, 100_000, 100_000, 100_000, 100_000]),
  };
}

export function drawShape(random: Stream): Shape {
  const ttlMs = random.pick([2_000, 4_000, 10_000, 10_000]);
  return {
    members: random.between(2, 5),
    observers: random.between(0, 2),
    ttlMs,
    drainMs: random.pick([0, ttlMs / 20, ttlMs / 10]),
    clockErrorRatio: 0.01,
    driftRatio: random.pick([0, 0.005, 0.0099]),
    order: random.pick(['arrival', 'arrival', 'priority', 'rendezvous', 'disagree']),
    store: storeShape(random, ttlMs),
    stormMs: 14 * ttlMs,
    recoveryMs: 6 * ttlMs,
    unrest: random.pick([0, 0.2, 1]),
  };
}

/** Draws a duration: mostly short, sometimes longer than any lease. */
function lastingMs({ random, shape: { ttlMs } }: Draw): number {
  return random.below(random.pick([ttlMs / 8, ttlMs / 2, ttlMs, 2.5 * ttlMs]));
}

/** One way to draw each kind. */
const drawn: { readonly [K in FaultKind]: (about: Draw) => Extract<FaultAction, { kind: K }> } = {
  crash: (about) => ({ kind: 'crash', target: about.target, durationMs: lastingMs(about) }),
  pause: (about) => ({ kind: 'pause', target: about.target, durationMs: lastingMs(about) }),
  block: (about) => ({ kind: 'block', target: about.target, durationMs: lastingMs(about) }),
  suspend: (about) => ({ kind: 'suspend', target: sleeper(about), durationMs: lastingMs(about) }),
  leave: (about) => ({ kind: 'leave', target: about.target, durationMs: lastingMs(about) }),
  takeOver: ({ target }) => ({ kind: 'takeOver', target }),
  wallJump: (about) => wallJump(about),
  cut: (about) => ({ kind: 'cut', target: about.target, side: about.random.pick(['both', 'up', 'down']), durationMs: lastingMs(about) }),
  refuse: (about) => ({ kind: 'refuse', target: about.target, durationMs: lastingMs(about) }),
  stall: (about) => ({ kind: 'stall', target: about.target, durationMs: lastingMs(about) }),
  stallWatches: (about) => ({ kind: 'stallWatches', target: about.target, durationMs: 4 * lastingMs(about) }),
  silenceConnections: ({ target }) => ({ kind: 'silenceConnections', target }),
  reset: ({ target }) => ({ kind: 'reset', target }),
  slow: (about) => ({ kind: 'slow', target: about.target, byMs: about.random.below(about.shape.ttlMs / 4), durationMs: lastingMs(about) }),
  lossy: (about) => ({ kind: 'lossy', target: about.target, ratio: about.random.pick([0.05, 0.3, 0.6]), durationMs: lastingMs(about) }),
  loseReplies: ({ target, random }) => ({ kind: 'loseReplies', target, count: random.between(1, 4) }),
  holdWrites: (about) => holdWrites(about),
  breakWatches: ({ random }) => ({ kind: 'breakWatches', part: random.pick([0.3, 1]), denied: random.chance(0.3) }),
  failover: (about) => ({ kind: 'failover', durationMs: lastingMs(about) }),
  hangDisk: (about) => hangDisk(about),
  hungCandidate: (about) => ({ kind: 'hungCandidate', durationMs: 4 * lastingMs(about) }),
  deleteKey: ({ random }) => ({ kind: 'deleteKey', which: random.pick(['leader', 'waiting', 'member', 'group']), nth: random.below(8) }),
  deleteEntry: () => ({ kind: 'deleteEntry' }),
  requestStepDown: (about) => ({ kind: 'requestStepDown', ...drawRequest(about) }),
  requestHandover: (about) => ({ kind: 'requestHandover', ...drawRequest(about), ...drawWish(about) }),
  endLease: ({ target }) => ({ kind: 'endLease', target, by: 'operator' }),
  wipe: () => ({ kind: 'wipe' }),
};

function drawRequest({
  random,
  shape: { ttlMs },
}: Draw): Pick<Extract<FaultAction, { kind: 'requestStepDown' }>, 'delayMs' | 'lostReplies'> {
  return { delayMs: random.below(random.pick([1, 50, ttlMs, 2 * ttlMs])), lostReplies: random.pick([0, 0, 1]) };
}

function drawWish({ random, shape: { ttlMs } }: Draw): Pick<Extract<FaultAction, { kind: 'requestHandover' }>, 'nth' | 'withdrawnAfterMs'> {
  const nth = random.below(8);
  return random.chance(1 / 4) ? { nth, withdrawnAfterMs: random.below(random.pick([50, ttlMs])) } : { nth };
}

function sleeper({ random, sleepers, target, anyClocks }: Draw): Target {
  return anyClocks || sleepers.length === 0 ? target : random.pick(sleepers);
}

function wallJump({ random, shape, target, sleepers, anyClocks }: Draw): Extract<FaultAction, { kind: 'wallJump' }> {
  const byMs = random.between(1, random.pick([100, shape.ttlMs, 3_600_000]));
  const safe = sleepers.length > 0 && /^m\d+$/.test(target) && !sleepers.includes(target);
  const back = random.chance(0.5) && (safe || anyClocks);
  return { kind: 'wallJump', target, byMs: back ? -byMs : byMs };
}

function holdWrites(about: Draw): Extract<FaultAction, { kind: 'holdWrites' }> {
  const { random, target } = about;
  const fault = { kind: 'holdWrites' as const, target, durationMs: lastingMs(about) };
  return random.chance(0.5)
    ? fault
    : { ...fault, operations: [random.pick(['compareAndSwap', 'enqueue', 'renewLease', 'revokeLease'] as const)] };
}

function hangDisk(about: Draw): Extract<FaultAction, { kind: 'hangDisk' }> {
  const { random, shape } = about;
  const server = random.below(shape.store.servers ?? 1);
  const hung = random.pick(['writes', 'reads'] as const);
  return { kind: 'hangDisk', server, hung, silentPart: random.pick([0, 0.5, 1]), durationMs: 2 * lastingMs(about) };
}

export function drawFault(kind: FaultKind, about: Draw): Fault {
  return { ...drawn[kind](about), when: about.when };
}

/** A running member compares its clocks more often than this, in ttls. */
const LOOKED_TTLS = 0.25;
/** Longer than a leader stays valid after one renewal, in ttls. */
const VALID_TTLS = 1.1;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Sets the wall clocks of sleepers back so long before or after a suspension that the member
 * compares its clocks in between. Members must notice this. They could not notice a set-back closer
 * to the suspension or during it. A member that may be stopped for another reason has had time for
 * a renewal, or is no longer valid.
 */
export function drawSetBacks(random: Stream, shape: Shape, sleepers: readonly string[], faults: readonly Fault[]): readonly Fault[] {
  const { ttlMs, stormMs } = shape;
  return sleepers.flatMap((target) => {
    const sleeps = faults.flatMap((fault) => (fault.kind === 'suspend' && fault.target === target ? [spanOf(fault)] : []));
    const chosen = sleeps[random.below(sleeps.length)];
    if (chosen === undefined || !random.chance(0.5)) return [];
    const awayMs = ttlMs * (LOOKED_TTLS + random.below(150) / 100);
    const atMs = Math.floor(random.chance(0.5) ? chosen.fromMs - awayMs : chosen.toMs + awayMs);
    const stops = faults
      .filter(isStop)
      .filter((fault) => [target, 'leader', 'subject'].includes(fault.target))
      .map(spanOf);
    const isNear = (sleep: Span): boolean => {
      const around = widened(sleep, ttlMs * VALID_TTLS);
      const isQuiet = stops.every((stop) => stop.fromMs > around.toMs || stop.toMs < around.fromMs);
      const { fromMs, toMs } = isQuiet ? widened(sleep, ttlMs * LOOKED_TTLS) : around;
      return atMs > fromMs && atMs < toMs;
    };
    if (sleeps.some(isNear) || atMs < 0 || atMs >= stormMs) return [];
    return [{ kind: 'wallJump' as const, target, byMs: -random.between(ttlMs, 3_600_000), when: { atMs } }];
  });
}

type Stop = Extract<Fault, { kind: 'pause' | 'block' }>;

function isStop(fault: Fault): fault is Stop {
  return fault.kind === 'pause' || fault.kind === 'block';
}

/**
 * The span in which a fault may last: any time, if the fault waits for an event of the election.
 */
function spanOf({ when, durationMs }: Stop | Extract<Fault, { kind: 'suspend' }>): Span {
  return 'atMs' in when ? { fromMs: when.atMs, toMs: when.atMs + durationMs } : { fromMs: -Infinity, toMs: Infinity };
}

function widened({ fromMs, toMs }: Span, byMs: number): Span {
  return { fromMs: fromMs - byMs, toMs: toMs + byMs };
}
