/** Draws the faults of a world at random. */

import { streamOf, type Stream } from '@incumbent/simulator/time';
import type { Fault, Ground, Plan, FaultKind, Target, Trigger, When } from './faults.ts';

/** These are drawn separately. */
type Kind = Exclude<FaultKind['kind'], 'setBack' | 'withdraw'>;

/**
 * The possible faults, and the events that trigger them. One that is named more often is drawn more
 * often.
 */
export interface Odds {
  readonly kinds: readonly Kind[];
  readonly triggers: readonly Trigger[];
}

/** All faults that members of a fixed list can meet. */
export const usual: readonly Kind[] = [
  ...(['crash', 'crash', 'crash', 'pause', 'block', 'suspend', 'isolate', 'isolate'] as const),
  ...(['split', 'split', 'bridge', 'lossy', 'duplicating', 'slow', 'badDisk', 'wallJump', 'blip'] as const),
];

/** How a world counts these faults, set-backs and aborted campaigns. */
export function faultsOf(kinds: readonly Kind[]): readonly string[] {
  return [...new Set(kinds), 'setBack', 'withdraw'].map((kind) => `injected ${kind}`);
}

/**
 * The plan of a seed. `labels`: distinguish the simulations for which one seed must draw different
 * worlds.
 */
export function drawPlan<G extends Ground>(seed: number, labels: readonly string[], shapeOf: (random: Stream) => G, odds: Odds): Plan<G> {
  const random = streamOf(seed, 'plan', ...labels);
  const shape = shapeOf(random);
  const count = random.below(random.pick([3, 8, 20]));
  const faults = Array.from({ length: count }, () => drawFault(random, shape, odds));
  const setBacks = drawSetBacks(streamOf(seed, 'set back', ...labels), shape, odds);
  const withdrawals = drawWithdrawals(streamOf(seed, 'withdraw', ...labels), shape, odds);
  return { seed, shape, faults: [...faults, ...setBacks, ...withdrawals] };
}

/**
 * Aborts campaigns, mostly of a member that has just sent a message, such as the one that begins an
 * election. These draws have random numbers of their own, too.
 */
function drawWithdrawals(random: Stream, shape: Ground, { triggers }: Odds): readonly Fault[] {
  const count = random.pick([0, 0, 1, 3]);
  return Array.from({ length: count }, () => ({
    kind: 'withdraw',
    target: random.pick(onOccasion(shape)),
    forMs: lasting(random, shape),
    when: drawOccasion(random, shape, triggers),
  }));
}

/** Usually short, sometimes longer than any promise. */
function lasting(random: Stream, { unitMs: max }: Ground): number {
  return 1 + random.below(random.pick([max / 8, max / 2, 1.5 * max, 4 * max]));
}

function drawFault(random: Stream, shape: Ground, { kinds, triggers }: Odds): Fault {
  if (random.chance(0.5))
    return { ...drawFaultKind(random, shape, random.pick(byTime(shape)), kinds), when: { atMs: random.below(shape.stormMs) } };
  const when = drawOccasion(random, shape, triggers);
  return { ...drawFaultKind(random, shape, random.pick(onOccasion(shape)), kinds), when };
}

function byTime({ members }: Ground): readonly Target[] {
  return ['leader', ...members];
}

function onOccasion({ members }: Ground): readonly Target[] {
  return ['subject', 'subject', 'leader', ...members];
}

function drawOccasion(random: Stream, { unitMs }: Ground, triggers: readonly Trigger[]): When {
  const on = random.pick(triggers);
  const nth = random.below(on.startsWith('heartbeat') ? 30 : 6);
  return { on, nth, afterMs: random.pick([0, 0, 0, random.below(20), random.below(unitMs)]) };
}

/**
 * Sets wall clocks back by about a heartbeat. If machines sleep, half of the set-backs come just
 * before a leader's sleep, while earlier answers still keep it valid. These draws have random
 * numbers of their own, so that they do not change the other faults.
 */
function drawSetBacks(random: Stream, shape: Ground, { triggers }: Odds): readonly Fault[] {
  const count = random.pick([0, 1, 2, 4]);
  return Array.from({ length: count }, () =>
    shape.sleepy && random.chance(0.5) ? drawNap(random, shape) : [drawSetBack(random, shape, triggers)],
  ).flat();
}

function drawSetBack(random: Stream, shape: Ground, triggers: readonly Trigger[]): Fault {
  const setBack = { kind: 'setBack', byMs: random.between(shape.heartbeatEveryMs / 2, 4 * shape.heartbeatEveryMs) } as const;
  if (random.chance(0.5)) return { ...setBack, target: random.pick(byTime(shape)), when: { atMs: random.below(shape.stormMs) } };
  return { ...setBack, target: random.pick(onOccasion(shape)), when: later(drawOccasion(random, shape, triggers), 1) };
}

function drawNap(random: Stream, shape: Ground): readonly Fault[] {
  const [target, when]: readonly [Target, When] = random.chance(0.5)
    ? ['leader', { atMs: random.below(shape.stormMs) }]
    : ['subject', { on: 'elected', nth: random.below(6), afterMs: 1 + random.below(20) }];
  return [
    { kind: 'setBack', target, byMs: random.between(shape.heartbeatEveryMs / 2, 4 * shape.heartbeatEveryMs), when },
    {
      kind: 'suspend',
      target,
      forMs: random.between(shape.unitMs / 3, 1.5 * shape.unitMs),
      when: later(when, random.below(shape.heartbeatEveryMs)),
    },
  ];
}

function later(when: When, byMs: number): When {
  return 'atMs' in when ? { atMs: when.atMs + byMs } : { ...when, afterMs: when.afterMs + byMs };
}

function drawFaultKind(random: Stream, shape: Ground, target: Target, kinds: readonly Kind[]): FaultKind {
  const forMs = lasting(random, shape);
  const side = shape.members.filter(() => random.chance(0.5));
  const kind = random.pick(kinds);
  switch (kind) {
    case 'crash':
    case 'badDisk':
      return { kind, target, forMs: random.chance(0.3) ? 1 : forMs, writeLost: random.chance(0.5) };
    case 'leave':
    case 'blip':
    case 'pause':
    case 'block':
      return { kind, target, forMs };
    case 'suspend':
      return { kind: shape.sleepy ? kind : 'pause', target, forMs };
    case 'isolate':
      return { kind, target, how: random.pick(['both', 'deaf', 'mute']), forMs };
    case 'split':
      return { kind, side, oneWay: random.chance(0.3), forMs };
    case 'shatter':
      return { kind, sides: [...Map.groupBy(shape.members, () => random.below(3)).values()], forMs };
    case 'bridge':
      return { kind, side, target, forMs };
    case 'lossy':
    case 'duplicating':
      return { kind, part: random.pick([0.1, 0.4, 0.8]), forMs };
    case 'slow':
      return { kind, part: random.pick([0.1, 0.5, 1]), byMs: random.below(2 * shape.unitMs), forMs };
    case 'wallJump':
      return { kind, target, byMs: (shape.sleepy ? 1 : random.pick([-1, 1])) * random.below(random.pick([50, 3_600_000])) };
    default:
      return kind satisfies never;
  }
}

/** Random rates, or the worst case: one clock is slow and all others are fast. */
export function drawRates(random: Stream, members: readonly string[], off: number): readonly number[] {
  const slow = random.chance(0.5) ? random.pick(members) : undefined;
  return members.map((id) => 1 + (slow === undefined ? random.pick([-off, 0, off]) : id === slow ? -off : off));
}
