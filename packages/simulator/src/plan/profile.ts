/** A way to make plans from seeds, and what holds in them. */

import { triggers, type Fault, type FaultKind } from './fault.ts';
import type { Plan, Shape } from './plan.ts';
import { streamOf, type Stream } from '../time/random.ts';
import { drawFault, drawSetBacks, drawShape, type Draw } from './draw.ts';
import { drawSilentFaults, drawSilentShape } from './silent-faults.ts';

export interface Profile {
  readonly name: string;
  /** In one sentence. */
  readonly about: string;
  plan(seed: number): Plan;
  /** How long two may believe after somebody ended a live lease, in ms. */
  overlapMs(shape: Shape): number;
  /** Whether two must have believed, for so long at most, in a batch of worlds. */
  readonly overlaps?: boolean;
  /** Promises that the docs say are not kept here: a batch of worlds in which none of these breaks was not hard enough. Others must hold. */
  readonly mustBreak: readonly string[];
  /** Promises that may break here, because those that break do. */
  readonly mayBreak?: readonly string[];
  /** What must have happened at least once in a batch of worlds. */
  readonly mustOccur: readonly string[];
}

export interface Drawing {
  /** Kinds of faults, each as often as it stands here. */
  readonly kinds: readonly FaultKind[];
  /** How many faults in a ttl, of those that come by time. */
  readonly perTtl: number;
  /** How many faults wait for something that the election does. */
  readonly triggered: number;
  /** Watches, connections and servers fail silently, too, and an operator deletes the leader's entry. */
  readonly silences?: boolean;
  /** Clocks of one machine may stand still, and its wall clock be set back: what no process can notice. */
  readonly anyClocks?: boolean;
  readonly reshape?: (shape: Shape, random: Stream) => Shape;
}

/** The plan of a seed. */
export function drawPlan(
  profile: string,
  seed: number,
  { kinds, perTtl, triggered, reshape, silences = false, anyClocks = false }: Drawing,
): Plan {
  const random = streamOf(seed, 'plan', profile);
  const usual = drawShape(random);
  const shape = reshape === undefined ? usual : reshape(usual, random);
  const members = Array.from({ length: shape.members }, (_, i) => `m${i + 1}`);
  const sleepers = members.filter(() => random.chance(0.5));
  const about: Omit<Draw, 'when' | 'target'> = { random, shape, sleepers, anyClocks };
  const byTime = Math.floor((shape.stormMs / shape.ttlMs) * perTtl * random.pick([0.3, 1, 1.5]));
  const faults: Fault[] = [];
  for (let i = 0; i < byTime; i += 1) {
    const target = random.chance(0.3) ? 'leader' : random.chance(0.1) && shape.observers > 0 ? 'o1' : random.pick(members);
    faults.push(drawFault(random.pick(kinds), { ...about, when: { atMs: random.below(shape.stormMs) }, target }));
  }
  for (let i = 0; i < triggered; i += 1) faults.push(drawTriggered(random.pick(kinds), about));
  // By chance of its own, like the elections, so that no other fault is another for it.
  if (kinds.includes('wallJump') && !anyClocks) faults.push(...drawSetBacks(streamOf(seed, 'set back', profile), shape, sleepers, faults));
  const silent = drawSilentShape(shape, (what) => streamOf(seed, what, profile));
  if (silences) faults.push(...drawSilentFaults({ ...about, shape: silent, faults }, (what) => streamOf(seed, what, profile)));
  const later = {
    ...severalElections(streamOf(seed, 'elections', profile)),
    ...severalObservers(streamOf(seed, 'observing', profile), shape),
  };
  return { version: 1, profile, seed, shape: { ...silent, ...later }, faults };
}

/** In one of four of the worlds that have any. */
function severalObservers(random: Stream, { observers }: Shape): Pick<Shape, 'observing'> {
  return observers > 0 && random.chance(1 / 4) ? { observing: random.between(2, 5) } : {};
}

/** In one world of eight. */
function severalElections(random: Stream): Pick<Shape, 'elections'> {
  return random.chance(1 / 8) ? { elections: random.between(2, 3) } : {};
}

/** On the heels of what the election just did, most often against whoever did it. */
function drawTriggered(kind: FaultKind, about: Omit<Draw, 'when' | 'target'>): Fault {
  const { random, shape } = about;
  const on = random.pick(triggers);
  const nth = random.between(1, on === 'renewed' ? 40 : 6);
  const afterMs = random.pick([0, 0, random.below(50), random.below(shape.ttlMs)]);
  return drawFault(kind, { ...about, when: { on, nth, afterMs }, target: random.chance(0.8) ? 'subject' : 'leader' });
}
