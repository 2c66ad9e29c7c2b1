/** The plan that a seed stands for, for a world of the quorum algorithm. */

import type { Stream } from '@incumbent/simulator/time';
import type { TieBreak } from '../../src/index.ts';
import { drawPlan, drawRates, usual } from '../simulation/draw.ts';
import type { CutHow, Ground, Plan, Trigger } from '../simulation/faults.ts';

export interface Shape extends Ground {
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  readonly clockErrorRatio: number;
  readonly tieBreak: TieBreak;
  /** How far each member's data reach. */
  readonly reach: readonly number[];
  /** This member stays cut off for a while in calm, and then returns. */
  readonly outcast: string | undefined;
  /** How the member is cut off: it receives nothing, nobody receives its messages, or both. */
  readonly outcastHow: CutHow;
}

const triggers: readonly Trigger[] = ['vote', 'voteAnswer', 'heartbeat', 'heartbeatAnswer', 'handover', 'resigned', 'write', 'elected'];

export function planOf(seed: number): Plan<Shape> {
  return drawPlan(seed, [], drawShape, { kinds: usual, triggers });
}

function drawShape(random: Stream): Shape {
  const members = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].slice(0, random.pick([1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 6, 7]));
  const min = random.pick([150, 300, 1_000]);
  const max = Math.round(min * random.pick([1.3, 2, 2, 3]));
  const clockErrorRatio = random.pick([0.01, 0.01, 0.1]);
  const drainMs = random.pick([0, 0, min / 10, min / 4]);
  const bystander = members.length > 1 && random.chance(0.2) ? random.pick(members) : undefined;
  const reaches = random.pick([1, 1, 2, 3]);
  return {
    members,
    unitMs: max,
    electionTimeoutMinMs: min,
    electionTimeoutMaxMs: max,
    heartbeatEveryMs: Math.floor(Math.min(min / 3, (min * (1 - 2 * clockErrorRatio) - drainMs) / random.pick([2.5, 3.5, 5]))),
    drainMs,
    clockErrorRatio,
    tieBreak: random.pick(['first-asked', 'highest-rank']),
    rates: drawRates(random, members, clockErrorRatio * random.pick([0, 0.9, 0.99])),
    latencyMs: random.pick([
      [0, 2],
      [1, min / 20],
      [min / 20, min / 10],
    ]),
    echoes: random.pick([0, 0.005, 0.03]),
    writeMs: random.pick([0, 2, min / 20]),
    reach: members.map((id) => (id === bystander ? 0 : random.below(reaches))),
    bystanders: bystander === undefined ? [] : [bystander],
    outcast: members.length > 2 && random.chance(0.5) ? random.pick(members) : undefined,
    outcastHow: random.pick(['both', 'both', 'deaf', 'mute']),
    unrest: random.pick([0, 0.3, 1]),
    sleepy: random.chance(0.5),
    startWithinMs: 20,
    stormMs: 9 * max,
  };
}
