/** A whole run as data. The same plan gives the same run. */

import type { Fault } from './fault.ts';
import type { HangMode } from '../store/disks.ts';
import type { StoreShape } from '../store/shape.ts';

/**
 * The order of succession. `disagree`: members compare differently under one name, as after a
 * faulty deployment.
 */
export type Order = 'arrival' | 'priority' | 'rendezvous' | 'disagree';

/** The properties of a world besides its faults. */
export interface Shape {
  readonly members: number;
  readonly observers: number;
  /**
   * In how many elections each member campaigns. Default 1. All are checked for two valid leaders.
   * The first is also checked for who leads, and when.
   */
  readonly elections?: number;
  /** How many observers come and go in each observing process. Default: one, which stays. */
  readonly observing?: number;
  readonly ttlMs: number;
  readonly drainMs: number;
  /** The clock error ratio that members are configured with. */
  readonly clockErrorRatio: number;
  /** How much the rates of the clocks really differ from world time at most, as a ratio. */
  readonly driftRatio: number;
  readonly order: Order;
  readonly store: StoreShape;
  /**
   * Every process has a reaper that ends its leases at most this many ms after its death. Default:
   * no reapers.
   */
  readonly reaperLagMs?: number;
  /**
   * Whether every process has a worker thread that renews its leases while its event loop is
   * blocked. Default false.
   */
  readonly renewed?: boolean;
  /** When the leader crashes at the end, no watch reports it. Default false. */
  readonly silentFailover?: boolean;
  /**
   * When the leader crashes at the end, the disk of one server hangs. Default: all servers work.
   */
  readonly sickFailover?: HangMode;
  /** In calm, the connections of all processes go silent once, permanently. Default false. */
  readonly silentConnections?: boolean;
  /** How long faults happen, in ms. */
  readonly stormMs: number;
  /** How long the election may be without a leader after the last fault, in ms. */
  readonly recoveryMs: number;
  /**
   * How restless leaders are. 0: they lead as long as they can. 1: they resign, hand over, fail and
   * give up all the time.
   */
  readonly unrest: number;
}

/** A whole run: the shape of its world, and its faults. */
export interface Plan {
  /** The version of the format. */
  readonly version: 1;
  /** The name of the profile that drew the plan. The profile says which promises are checked. */
  readonly profile: string;
  readonly seed: number;
  readonly shape: Shape;
  readonly faults: readonly Fault[];
}
