/** The plan that a seed stands for, for a world of the emergent algorithm. */

import type { Stream } from '@incumbent/simulator/time';
import type { EmergentOptions } from '../../src/index.ts';
import { drawPlan, type Odds } from '../simulation/draw.ts';
import type { Ground, Plan } from '../simulation/faults.ts';

export interface Shape extends Ground {
  readonly options: EmergentOptions;
  readonly seeds: readonly string[];
  readonly failureTimeoutMs: number;
}

export const kinds: Odds['kinds'] = [
  ...(['crash', 'crash', 'leave', 'pause', 'block', 'suspend', 'isolate', 'isolate', 'split', 'split'] as const),
  ...(['shatter', 'shatter', 'bridge', 'lossy', 'duplicating', 'slow', 'wallJump'] as const),
];

const triggers: Odds['triggers'] = [
  ...['join', 'waiting', 'seek', 'update', 'ack', 'removed', 'missed', 'ask', 'answer', 'probe', 'invite', 'merge', 'leave'],
  ...['heartbeat', 'elected'],
];

export function planOf(seed: number): Plan<Shape> {
  return drawPlan(seed, ['emergent'], drawShape, { kinds, triggers });
}

function drawShape(random: Stream): Shape {
  const members = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].slice(0, random.pick([3, 3, 4, 5, 5, 6, 7, 8, 9]));
  const heartbeatEveryMs = random.pick([50, 100, 100]);
  const failureTimeoutMs = heartbeatEveryMs * random.pick([3, 4, 5, 8]);
  const drainMs = random.pick([0, failureTimeoutMs / 10, failureTimeoutMs / 4]);
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
      minimumSize: random.pick([1, 1, 1, 2, Math.ceil((members.length + 1) / 2)]),
      majority: random.chance(0.25),
      drainMs,
    },
    failureTimeoutMs,
    // A crashed member is suspect after one timeout, and another one leads after that.
    unitMs: 2 * failureTimeoutMs,
    heartbeatEveryMs,
    drainMs,
    rates: members.map(() => 1 + random.pick([-off, 0, off])),
    latencyMs: random.pick([
      [0, 2],
      [1, heartbeatEveryMs / 10],
      [heartbeatEveryMs / 10, heartbeatEveryMs / 4],
    ]),
    echoes: random.pick([0, 0, 0.005, 0.02]),
    writeMs: 0,
    bystanders: random.chance(0.3) ? members.filter(() => random.chance(0.3)) : [],
    unrest: random.pick([0, 0, 0.3, 1]),
    sleepy: random.chance(0.5),
    startWithinMs: random.pick([20, 20, 4 * failureTimeoutMs]),
    stormMs: 20 * failureTimeoutMs,
  };
}
