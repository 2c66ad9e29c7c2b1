/**
 * Requests of an operator to the leader. They are drawn from a stream of their own, so that the
 * rest of a seed's plan stays the same.
 */

import { drawFault, type Draw } from './draw.ts';
import type { Fault, Trigger, When } from './fault.ts';

/** The events after which a request is most likely to meet a term that ends. */
const on: readonly Trigger[] = ['claimed', 'handedOver', 'elected', 'aborted', 'released'];

/** Draws a few requests. `part`: in which fraction of the worlds. */
export function drawRequests(part: number, about: Omit<Draw, 'when' | 'target'>): readonly Fault[] {
  const { random, shape } = about;
  if (part === 0 || !random.chance(part)) return [];
  const whenOf = (): When => {
    if (random.chance(1 / 2)) return { atMs: random.below(shape.stormMs) };
    return { on: random.pick(on), nth: random.between(1, 6), afterMs: random.pick([0, 0, random.below(50), random.below(shape.ttlMs)]) };
  };
  const draw = (): Fault => drawFault(random.pick(['requestStepDown', 'requestHandover']), { ...about, when: whenOf(), target: 'leader' });
  return Array.from({ length: random.between(1, 6) }, draw);
}
