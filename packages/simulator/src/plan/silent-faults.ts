/**
 * Silent failures of watches, connections and disks, and an operator who deletes the leader's
 * entry. Each is drawn from a stream of its own, so that the rest of a seed's plan stays the same.
 */

import type { Fault, FaultKind, Target } from './fault.ts';
import type { Shape } from './plan.ts';
import type { Stream } from '../time/random.ts';
import { drawFault, type Draw } from './draw.ts';

/** Gives the random stream of a seed for one purpose. */
type Streams = (what: string) => Stream;

interface About extends Omit<Draw, 'when' | 'target' | 'random'> {
  /** The faults that were drawn before. */
  readonly faults: readonly Fault[];
}

const SERVERS = 3;

/** Draws how many servers there are, and what is silent at the end. */
export function drawSilentShape(shape: Shape, streamFor: Streams): Shape {
  const isCluster = streamFor('servers').chance(1 / 2);
  const store = isCluster ? { ...shape.store, servers: SERVERS } : shape.store;
  const silent = silentFailover(streamFor('silent failover'), shape);
  const sick = isCluster && silent.silentFailover !== true ? sickFailover(streamFor('sick failover'), shape) : {};
  const isSilent = streamFor('silent connections in calm').chance(1 / 4) && renewsInTime(shape);
  const silentConnections = isSilent ? { silentConnections: true } : {};
  return { ...shape, store, ...silent, ...sick, ...silentConnections };
}

/** Whether a leader whose renewal was lost always has time for another one before its deadline. */
function renewsInTime({ ttlMs, store }: Shape): boolean {
  return store.acknowledges === 'renewal' || store.latency.maxMs <= ttlMs / 100;
}

/**
 * Draws a silent failover in one of four worlds. Excludes candidates that disagree: they wait for
 * each other for an unknown time.
 */
function silentFailover(random: Stream, { order }: Shape): Pick<Shape, 'silentFailover'> {
  return order !== 'disagree' && random.chance(1 / 4) ? { silentFailover: true } : {};
}

/** Draws a hung server in every second of the remaining worlds. */
function sickFailover(random: Stream, { order }: Shape): Pick<Shape, 'sickFailover'> {
  return order !== 'disagree' && random.chance(1 / 2) ? { sickFailover: random.pick(['reads', 'writes']) } : {};
}

/** Draws each kind in every second world. */
export function drawSilentFaults(about: About, streamFor: Streams): readonly Fault[] {
  const { shape } = about;
  const ids = (letter: string, count: number): readonly string[] => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);
  const targets = ['leader', ...ids('m', shape.members), ...ids('o', shape.observers)];
  const some = (kind: FaultKind, random: Stream, most: number, among: readonly Target[]): readonly Fault[] => {
    const draw = (): Fault =>
      drawFault(kind, { ...about, random, when: { atMs: random.below(shape.stormMs) }, target: random.pick(among) });
    return random.chance(1 / 2) ? Array.from({ length: random.between(1, most) }, draw) : [];
  };
  return [
    ...some('stallWatches', streamFor('silences'), 4, targets),
    ...some('silenceConnections', streamFor('silent connections'), 4, targets),
    ...some('hangDisk', streamFor('hanging disks'), 3, targets),
    ...drawDeletedEntries(about, streamFor('deleted entries')),
  ];
}

/**
 * Draws the deletion of an entry in every second world in which no record is deleted. A leader
 * whose record and entry are both deleted while its watches are silent stays valid until they
 * report again, and another leader is elected meanwhile.
 */
function drawDeletedEntries(about: About, random: Stream): readonly Fault[] {
  if (about.faults.some((fault) => fault.kind === 'deleteKey' && fault.which === 'leader') || !random.chance(1 / 2)) return [];
  const draw = (): Fault => {
    const afterMs = random.pick([0, 0, random.below(50), random.below(about.shape.ttlMs)]);
    const atMs = random.below(about.shape.stormMs);
    const on = random.pick(['claimed', 'handedOver', 'elected'] as const);
    const when = random.chance(1 / 3) ? { atMs } : { on, nth: random.between(1, 6), afterMs };
    return drawFault('deleteEntry', { ...about, random, when, target: 'leader' });
  };
  return Array.from({ length: random.between(1, 3) }, draw);
}
