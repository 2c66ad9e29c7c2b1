/** A world of members that elect among themselves, as data: what a seed stands for. */

import type { TieBreak } from '../../src/index.ts';
import { streamOf, type Stream } from '@incumbent/simulator/time';

/** Whatever elects: who takes part, and what lies between them. */
export interface Ground {
  /** Ids by rank, the best first. */
  readonly members: readonly string[];
  /** The time that faults are measured by: what a member waits before it elects, at the longest. */
  readonly unitMs: number;
  readonly heartbeatEveryMs: number;
  readonly drainMs: number;
  /** The rate of each member's clock: off by the error that is allowed for, at most. */
  readonly rates: readonly number[];
  readonly latencyMs: readonly [min: number, max: number];
  /** So much of all messages comes again, long after; and so it is with each second word of a leader that has given up. */
  readonly echoes: number;
  readonly writeMs: number;
  /** Takes part, and never leads. */
  readonly bystander: string | undefined;
  /** How restless leaders are: 0 they lead for as long as they can. */
  readonly unrest: number;
  /** Machines sleep, else wall clocks are set back by any time at any moment: both at once, within one round, nobody can notice. */
  readonly sleepy: boolean;
  readonly stormMs: number;
}

export interface Shape extends Ground {
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  readonly clockErrorRatio: number;
  readonly tieBreak: TieBreak;
  /** How far each member's data reach. */
  readonly reach: readonly number[];
  /** In calm it stays cut off for a while, and then returns. */
  readonly outcast: string | undefined;
  /** How the outcast is cut off: it hears nobody, nobody hears it, or both. */
  readonly outcastHow: CutHow;
}

export type CutHow = 'deaf' | 'mute' | 'both';

/** Something that was just sent, cast or won; a fault can wait for it. The subject is whose doing it was. A message's type, `write`, or `elected`. */
export type Trigger = string;

const voteTriggers: readonly Trigger[] = ['vote', 'voteAnswer', 'heartbeat', 'heartbeatAnswer', 'handover', 'resigned', 'write', 'elected'];

type When = { readonly atMs: number } | { readonly on: Trigger; readonly nth: number; readonly afterMs: number };

/** `subject`: of the trigger; `leader`: whoever believes; else a member's id. */
type Target = string;

/** All that last are over after `forMs`, and at the end of the storm. */
export type Strike =
  /** A write that is under way has come through, or has not. */
  | { readonly kind: 'crash'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  /** It dies of a write that fails; the disk has it, or not. */
  | { readonly kind: 'badDisk'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  | { readonly kind: 'pause' | 'block' | 'suspend'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'isolate'; readonly target: Target; readonly how: CutHow; readonly forMs: number }
  /** All others are restarted at once, while it is cut off. */
  | { readonly kind: 'blip'; readonly target: Target; readonly forMs: number }
  /** Two sides that do not hear each other. */
  | { readonly kind: 'split'; readonly side: readonly string[]; readonly oneWay: boolean; readonly forMs: number }
  /** Two sides, and one member that hears both. */
  | { readonly kind: 'bridge'; readonly side: readonly string[]; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'lossy' | 'duplicating'; readonly part: number; readonly forMs: number }
  /** So much of all messages takes so much longer. */
  | { readonly kind: 'slow'; readonly part: number; readonly byMs: number; readonly forMs: number }
  | { readonly kind: 'wallJump'; readonly target: Target; readonly byMs: number }
  /** Backwards, where nobody sleeps so close to it that it could not be noticed. */
  | { readonly kind: 'setBack'; readonly target: Target; readonly byMs: number };

/** `setBack` is drawn by itself. */
type FaultKind = Exclude<Strike['kind'], 'setBack'>;
export type Fault = Strike & { readonly when: When };

export interface Plan<G extends Ground = Shape> {
  readonly seed: number;
  readonly shape: G;
  readonly faults: readonly Fault[];
}

export function planOf(seed: number): Plan {
  const random = streamOf(seed, 'plan');
  const shape = drawShape(random);
  const setBacks = drawSetBacks(streamOf(seed, 'set back'), shape, voteTriggers);
  return { seed, shape, faults: [...drawFaults(random, shape, voteTriggers), ...setBacks] };
}

export function drawFaults(random: Stream, ground: Ground, on: readonly Trigger[]): readonly Fault[] {
  const count = random.below(random.pick([3, 8, 20]));
  return Array.from({ length: count }, () => drawFault(random, ground, on));
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
    bystander,
    outcast: members.length > 2 && random.chance(0.5) ? random.pick(members) : undefined,
    outcastHow: random.pick(['both', 'both', 'deaf', 'mute']),
    unrest: random.pick([0, 0.3, 1]),
    sleepy: random.chance(0.5),
    stormMs: 9 * max,
  };
}

/** Any, or the worst there is: one clock is slow and all others are fast. */
export function drawRates(random: Stream, members: readonly string[], off: number): readonly number[] {
  const slow = random.chance(0.5) ? random.pick(members) : undefined;
  return members.map((id) => 1 + (slow === undefined ? random.pick([-off, 0, off]) : id === slow ? -off : off));
}

/** Mostly short; at times longer than any promise. */
function lasting(random: Stream, { unitMs: max }: Ground): number {
  return 1 + random.below(random.pick([max / 8, max / 2, 1.5 * max, 4 * max]));
}

function drawFault(random: Stream, shape: Ground, triggers: readonly Trigger[]): Fault {
  if (random.chance(0.5)) return { ...drawStrike(random, shape, random.pick(byTime(shape))), when: { atMs: random.below(shape.stormMs) } };
  const when = drawOccasion(random, shape, triggers);
  return { ...drawStrike(random, shape, random.pick(onOccasion(shape))), when };
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
 * Wall clocks that are set back by a heartbeat or so; and, where machines sleep, every second time just before a leader's does, so that what was vouched for before
 * is still believed. By chance of their own, so that no other fault is another for them.
 */
export function drawSetBacks(random: Stream, shape: Ground, triggers: readonly Trigger[]): readonly Fault[] {
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

function drawStrike(random: Stream, shape: Ground, target: Target): Strike {
  const forMs = lasting(random, shape);
  const side = shape.members.filter(() => random.chance(0.5));
  const kind: FaultKind = random.pick([
    ...(['crash', 'crash', 'crash', 'pause', 'block', 'suspend', 'isolate', 'isolate'] as const),
    ...(['split', 'split', 'bridge', 'lossy', 'duplicating', 'slow', 'badDisk', 'wallJump', 'blip'] as const),
  ]);
  switch (kind) {
    case 'crash':
    case 'badDisk':
      return { kind, target, forMs: random.chance(0.3) ? 1 : forMs, writeLost: random.chance(0.5) };
    case 'pause':
    case 'block':
      return { kind, target, forMs };
    case 'suspend':
      return { kind: shape.sleepy ? kind : 'pause', target, forMs };
    case 'isolate':
      return { kind, target, how: random.pick(['both', 'deaf', 'mute']), forMs };
    case 'blip':
      return { kind, target, forMs };
    case 'split':
      return { kind, side, oneWay: random.chance(0.3), forMs };
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
