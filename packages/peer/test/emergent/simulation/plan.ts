/** A world of members that come and go, as data: what a seed stands for. */

import { streamOf, type Stream } from '@incumbent/simulator/time';
import type { EmergentOptions } from '../../../src/index.ts';

export interface Shape {
  readonly members: readonly string[];
  readonly seeds: readonly string[];
  readonly options: EmergentOptions;
  readonly heartbeatEveryMs: number;
  readonly failureTimeoutMs: number;
  readonly rates: readonly number[];
  readonly latencyMs: readonly [min: number, max: number];
  /** So much of all messages comes again, long after. */
  readonly echoes: number;
  /** Take part, and never lead. */
  readonly bystanders: readonly string[];
  /** How restless leaders are: 0 they lead for as long as they can. */
  readonly unrest: number;
  readonly startWithinMs: number;
  readonly stormMs: number;
}

/** All that last are over after `forMs`, and at the end of the storm. */
export type Strike =
  /** `gently`: it leaves, and says so. */
  | { readonly kind: 'crash' | 'leave'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'pause' | 'block' | 'suspend'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'isolate'; readonly target: Target; readonly how: 'deaf' | 'mute' | 'both'; readonly forMs: number }
  | { readonly kind: 'split'; readonly side: readonly string[]; readonly oneWay: boolean; readonly forMs: number }
  /** Three sides. */
  | { readonly kind: 'shatter'; readonly sides: readonly (readonly string[])[]; readonly forMs: number }
  | { readonly kind: 'bridge'; readonly side: readonly string[]; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'lossy' | 'duplicating'; readonly part: number; readonly forMs: number }
  | { readonly kind: 'slow'; readonly part: number; readonly byMs: number; readonly forMs: number }
  | { readonly kind: 'wallJump'; readonly target: Target; readonly byMs: number };

/** `coordinator`: one that takes itself for it, by chance the first; else a member's id. */
type Target = string;

export type Fault = Strike & { readonly atMs: number };

export interface Plan {
  readonly seed: number;
  readonly shape: Shape;
  readonly faults: readonly Fault[];
}

export const kinds: readonly Strike['kind'][] = [
  ...(['crash', 'leave', 'pause', 'block', 'suspend', 'isolate', 'split', 'shatter', 'bridge', 'lossy', 'duplicating', 'slow'] as const),
  'wallJump',
];

export function planOf(seed: number): Plan {
  const random = streamOf(seed, 'plan');
  const shape = drawShape(random);
  const count = random.below(random.pick([2, 6, 14]));
  return { seed, shape, faults: Array.from({ length: count }, () => drawFault(random, shape)) };
}

function drawShape(random: Stream): Shape {
  const members = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].slice(0, random.pick([3, 3, 4, 5, 5, 6, 7, 8, 9]));
  const heartbeatEveryMs = random.pick([50, 100, 100]);
  const failureTimeoutMs = heartbeatEveryMs * random.pick([3, 4, 5, 8]);
  const minimumSize = random.pick([1, 1, 1, 2, Math.ceil((members.length + 1) / 2)]);
  const off = random.pick([0, 0.005, 0.009]);
  return {
    members,
    seeds: random.pick([members.slice(0, 1), members.slice(0, 2), members.slice(0, 3), members.slice(-2)]),
    options: {
      cluster: 'world',
      heartbeatEveryMs,
      failureTimeoutMs,
      detector: random.pick(['timeout', 'timeout', 'phi']),
      heartbeatsTo: random.pick(['all', 'all', 1, 2, 3]),
      searchEveryMs: heartbeatEveryMs * random.pick([2, 5]),
      joinAttempts: random.pick([4, 8]),
      minimumSize,
      majority: random.chance(0.25),
      drainMs: random.pick([0, failureTimeoutMs / 10, failureTimeoutMs / 4]),
    },
    heartbeatEveryMs,
    failureTimeoutMs,
    rates: members.map(() => 1 + random.pick([-off, 0, off])),
    latencyMs: random.pick([
      [0, 2],
      [1, heartbeatEveryMs / 10],
      [heartbeatEveryMs / 10, heartbeatEveryMs / 4],
    ]),
    echoes: random.pick([0, 0, 0.005, 0.02]),
    bystanders: random.chance(0.3) ? members.filter(() => random.chance(0.3)) : [],
    unrest: random.pick([0, 0, 0.3, 1]),
    startWithinMs: random.pick([20, 20, 4 * failureTimeoutMs]),
    stormMs: 20 * failureTimeoutMs,
  };
}

function drawFault(random: Stream, shape: Shape): Fault {
  return { ...drawStrike(random, shape), atMs: random.below(shape.stormMs) };
}

function drawStrike(random: Stream, shape: Shape): Strike {
  const { members, failureTimeoutMs } = shape;
  const forMs = 1 + random.below(random.pick([0.2, 1, 3, 8]) * failureTimeoutMs);
  const target = random.pick(['coordinator', 'coordinator', ...members]);
  const kind = random.pick([...kinds, 'crash', 'split', 'shatter', 'isolate'] as const);
  switch (kind) {
    case 'crash':
    case 'leave':
    case 'pause':
    case 'block':
    case 'suspend':
      return { kind, target, forMs };
    case 'isolate':
      return { kind, target, how: random.pick(['both', 'both', 'deaf', 'mute']), forMs };
    case 'split':
      return { kind, side: members.filter(() => random.chance(0.5)), oneWay: random.chance(0.3), forMs };
    case 'shatter':
      return { kind, sides: [...Map.groupBy(members, () => random.below(3)).values()], forMs };
    case 'bridge':
      return { kind, side: members.filter(() => random.chance(0.5)), target: random.pick(members), forMs };
    case 'lossy':
    case 'duplicating':
      return { kind, part: random.pick([0.1, 0.4, 0.8]), forMs };
    case 'slow':
      return { kind, part: random.pick([0.1, 0.5, 1]), byMs: random.below(3 * failureTimeoutMs), forMs };
    case 'wallJump':
      return { kind, target, byMs: random.pick([-1, 1]) * random.below(random.pick([50, 3_600_000])) };
    default:
      return kind satisfies never;
  }
}
