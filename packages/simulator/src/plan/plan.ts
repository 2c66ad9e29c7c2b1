/** A whole run as data: run again, it is the same run. */

import type { Fault } from './fault.ts';
import type { HangMode } from '../store/disks.ts';
import type { StoreShape } from '../store/shape.ts';

/** In which order candidates follow. `disagree`: each member compares differently under one name, as after a deployment gone wrong. */
export type Order = 'arrival' | 'priority' | 'rendezvous' | 'disagree';

export interface Shape {
  readonly members: number;
  readonly observers: number;
  /** In how many elections each member campaigns; one if left out. All are checked for who believes; the first also for who should lead, and when. */
  readonly elections?: number;
  /** How many observers come and go in each process that observes; left out: there is one, and it stays. */
  readonly observing?: number;
  readonly ttlMs: number;
  readonly drainMs: number;
  /** What the members allow for. */
  readonly clockErrorRatio: number;
  /** By how much the clocks' rates really differ from the world's at most. */
  readonly driftRatio: number;
  readonly order: Order;
  readonly store: StoreShape;
  /** Every process has a reaper, which ends its leases at most so long after its death; left out: none has. */
  readonly reaperLagMs?: number;
  /** When the leader crashes in the end, nobody hears of it by a watch; left out: everybody does. */
  readonly silentFailover?: boolean;
  /** When the leader crashes in the end, the disk of one of the servers hangs; left out: all are well. */
  readonly sickFailover?: HangMode;
  /** In calm, the connections of all processes go silent once, for good; left out: they stay. */
  readonly silentConnections?: boolean;
  /** How long faults are let loose. */
  readonly stormMs: number;
  /** How long after the last fault there may be no leader. */
  readonly recoveryMs: number;
  /** How restless leaders are: 0 they lead for as long as they can, 1 they resign, hand over, fail and give up all the time. */
  readonly unrest: number;
}

export interface Plan {
  /** Of this format. */
  readonly version: 1;
  /** The name of the profile that it was made from: which promises are checked, and which excused. */
  readonly profile: string;
  readonly seed: number;
  readonly shape: Shape;
  readonly faults: readonly Fault[];
}

/** The plan that a text holds; a `TypeError` where it holds none of this format. */
export function readPlan(text: string): Plan {
  const plan: unknown = JSON.parse(text);
  if (isPlan(plan)) return plan;
  throw new TypeError('this is no plan of a simulation, or one of another version');
}

function isPlan(value: unknown): value is Plan {
  if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1) return false;
  return 'profile' in value && 'seed' in value && 'shape' in value && 'faults' in value && Array.isArray(value.faults);
}
