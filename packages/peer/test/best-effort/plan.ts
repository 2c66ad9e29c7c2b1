/** The plan that a seed stands for, for a world of a best-effort algorithm. */

import type { Stream } from '@incumbent/simulator/time';
import { drawPlan, drawRates, usual } from '../simulation/draw.ts';
import type { Ground, Plan, Trigger } from '../simulation/faults.ts';
import type { Name, Options } from './algorithms.ts';

export interface Shape extends Ground {
  readonly name: Name;
  readonly options: Options & Record<'failureTimeoutMs' | 'answerTimeoutMs', number> & Required<Pick<Options, 'candidates'>>;
  /** In calm, exactly one member must lead within this time, in ms. */
  readonly boundMs: number;
  /** How the leader gives up at the end of the calm. */
  readonly farewell: 'resigns' | 'handsOver';
}

const own: Readonly<Record<Name, readonly Trigger[]>> = {
  bully: ['election', 'alive', 'grant'],
  nextInLine: ['takeOver', 'alive', 'election'],
  candidateOrdinary: ['poll', 'alive'],
  invitation: ['invite', 'accept', 'redirect', 'moved'],
  ring: ['collect', 'announce', 'passed'],
};

export function planOf(name: Name, seed: number): Plan<Shape> {
  const triggers = ['heartbeat', 'heartbeatAnswer', 'handover', 'resigned', 'elected', 'elected', ...own[name], ...own[name]];
  return drawPlan(seed, [name], (random) => drawShape(name, random), { kinds: usual, triggers });
}

function drawShape(name: Name, random: Stream): Shape {
  const members = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].slice(0, random.pick([1, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7]));
  const failureTimeoutMs = random.pick([200, 500, 1_000]);
  const answerTimeoutMs = failureTimeoutMs * random.pick([0.1, 0.2, 0.4]);
  const drainMs = failureTimeoutMs * random.pick([0, 0, 0.1, 0.25]);
  const bystander = members.length > 1 && random.chance(0.2) ? random.pick(members) : undefined;
  const first = members.find((id) => id !== bystander);
  const candidates = members.filter((id) => random.chance(0.6) || id === first);
  const delayStepMs = 1.5 * answerTimeoutMs;
  const inviteEveryMs = failureTimeoutMs * random.pick([0.1, 0.5, 1]);
  const forgiveMs = failureTimeoutMs * random.pick([3, 10, 100]);
  const heartbeatEveryMs = failureTimeoutMs / random.pick([3, 5, 10]);
  const successors = random.pick([1, 2, 3]);
  const variant = random.pick(['live-set', 'maximum'] as const);
  const times = { failureTimeoutMs, answerTimeoutMs, heartbeatEveryMs, drainMs };
  return {
    name,
    options: { members, ...times, candidates, delayStepMs, inviteEveryMs, forgiveMs, successors, variant },
    boundMs: boundOf(name, members.length, { failureTimeoutMs, answerTimeoutMs, delayStepMs, inviteEveryMs }),
    farewell: random.pick(['resigns', 'handsOver']),
    members,
    unitMs: failureTimeoutMs,
    heartbeatEveryMs,
    drainMs,
    rates: drawRates(random, members, 0.01 * random.pick([0, 0.9, 0.99])),
    // A round trip, even with the worst clocks, is shorter than the answer timeout.
    latencyMs: random.pick([
      [0, 2],
      [1, answerTimeoutMs / 5],
      [answerTimeoutMs / 10, answerTimeoutMs / 3],
    ]),
    echoes: random.pick([0, 0.005, 0.03]),
    writeMs: 0,
    bystanders: bystander === undefined ? [] : [bystander],
    unrest: random.pick([0, 0.3, 1]),
    sleepy: random.chance(0.5),
    startWithinMs: 20,
    stormMs: 12 * failureTimeoutMs,
  };
}

interface Times {
  readonly failureTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly delayStepMs: number;
  readonly inviteEveryMs: number;
}

/**
 * A few timeouts, plus the time that an election and its repetition may take with so many members.
 */
function boundOf(name: Name, members: number, { failureTimeoutMs, answerTimeoutMs, delayStepMs, inviteEveryMs }: Times): number {
  const base = 6 * failureTimeoutMs;
  switch (name) {
    case 'bully':
    case 'nextInLine':
      return base + 4 * members * answerTimeoutMs;
    case 'candidateOrdinary':
      return base + 3 * members * delayStepMs;
    case 'invitation':
      return base + 12 * inviteEveryMs;
    case 'ring':
      return base + 6 * members * answerTimeoutMs;
    default:
      return name satisfies never;
  }
}
