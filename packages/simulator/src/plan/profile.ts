/** A way to draw plans from seeds, and the promises that hold in them. */

import { triggers, type Fault, type FaultKind } from './fault.ts';
import type { Plan, Shape } from './plan.ts';
import { streamOf, type Stream } from '../time/random.ts';
import { drawFault, drawSetBacks, drawShape, type Draw } from './draw.ts';
import { drawRequests } from './requests.ts';
import { drawSilentFaults, drawSilentShape } from './silent-faults.ts';

/** How to draw plans of one kind, and what must hold in them. */
export interface Profile {
  readonly name: string;
  /** What the profile is for, in one sentence. */
  readonly about: string;
  plan(seed: number): Plan;
  /** For how long two members may be valid after somebody ended a live lease, in ms. */
  overlapMs(shape: Shape): number;
  /** Whether two members must have been valid at once, for a bounded time, in a batch of worlds. */
  readonly overlaps?: boolean;
  /**
   * Promises that do not hold here according to the documentation. A batch of worlds in which none
   * of them breaks was not hard enough. All other promises must hold.
   */
  readonly mustBreak: readonly string[];
  /** Further promises that may break, as a consequence of those in `mustBreak`. */
  readonly mayBreak?: readonly string[];
  /** Events that must happen at least once in a batch of worlds. */
  readonly mustOccur: readonly string[];
}

export interface Drawing {
  /** The kinds of faults. A kind that appears twice is drawn twice as often. */
  readonly kinds: readonly FaultKind[];
  /** How many faults per ttl are drawn by time. */
  readonly perTtl: number;
  /** How many faults wait for an event of the election. */
  readonly triggered: number;
  /**
   * Whether watches, connections and servers can also fail silently, and an operator can delete the
   * leader's entry.
   */
  readonly silences?: boolean;
  /**
   * In which fraction of the worlds an operator sends requests to leaders. Default: in none.
   */
  readonly requests?: number;
  /**
   * Whether one machine can be suspended and have its wall clock set back. No process can notice
   * that.
   */
  readonly anyClocks?: boolean;
  readonly reshape?: (shape: Shape, random: Stream) => Shape;
}

/** Draws the plan of a seed. The same seed gives the same plan. */
export function drawPlan(
  profile: string,
  seed: number,
  { kinds, perTtl, triggered, reshape, silences = false, requests = 0, anyClocks = false }: Drawing,
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
  // Uses a random stream of its own, as the elections do, so that the other faults stay the same.
  if (kinds.includes('wallJump') && !anyClocks) faults.push(...drawSetBacks(streamOf(seed, 'set back', profile), shape, sleepers, faults));
  const silent = drawSilentShape(shape, (what) => streamOf(seed, what, profile));
  if (silences) faults.push(...drawSilentFaults({ ...about, shape: silent, faults }, (what) => streamOf(seed, what, profile)));
  faults.push(...drawRequests(requests, { ...about, random: streamOf(seed, 'requests of an operator', profile), shape: silent }));
  const store = {
    ...silent.store,
    ...sharedRevisions(streamOf(seed, 'shared revisions', profile), shape),
    looks: streamOf(seed, 'looks', profile).chance(1 / 2),
  };
  const later = {
    store,
    ...severalElections(streamOf(seed, 'elections', profile)),
    ...severalObservers(streamOf(seed, 'observing', profile), shape),
  };
  return { version: 1, profile, seed, shape: { ...silent, ...later }, faults };
}

/** In two of three worlds in which a handover is one swap. */
function sharedRevisions(random: Stream, { store }: Shape): Pick<Shape['store'], 'swapSharesRevision'> {
  return store.assignableLease && random.chance(2 / 3) ? { swapSharesRevision: true } : {};
}

/** Draws several observers in one of four worlds that have observers. */
function severalObservers(random: Stream, { observers }: Shape): Pick<Shape, 'observing'> {
  return observers > 0 && random.chance(1 / 4) ? { observing: random.between(2, 5) } : {};
}

/** Draws several elections in one of eight worlds. */
function severalElections(random: Stream): Pick<Shape, 'elections'> {
  return random.chance(1 / 8) ? { elections: random.between(2, 3) } : {};
}

/**
 * Draws a fault that follows an event of the election, mostly against the process that caused it.
 */
function drawTriggered(kind: FaultKind, about: Omit<Draw, 'when' | 'target'>): Fault {
  const { random, shape } = about;
  const on = random.pick(triggers);
  const nth = random.between(1, on === 'renewed' ? 40 : 6);
  const afterMs = random.pick([0, 0, random.below(50), random.below(shape.ttlMs)]);
  return drawFault(kind, { ...about, when: { on, nth, afterMs }, target: random.chance(0.8) ? 'subject' : 'leader' });
}
