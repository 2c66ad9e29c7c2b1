/** The plan that a seed stands for: the members of a world and their faults, as data. */

/** The part of a plan that all algorithms share: the members and the network. */
export interface Ground {
  /** The ids by rank, the best first. */
  readonly members: readonly string[];
  /**
   * The unit for the lengths of faults: the longest time that a member waits before it starts an
   * election.
   */
  readonly unitMs: number;
  readonly heartbeatEveryMs: number;
  readonly drainMs: number;
  /** The rate of each member's clock. It is off by at most the allowed error. */
  readonly rates: readonly number[];
  readonly latencyMs: readonly [min: number, max: number];
  /**
   * This part of all messages arrives a second time, much later. The same applies to every second
   * message of a leader that has resigned.
   */
  readonly echoes: number;
  readonly writeMs: number;
  /** These members take part but never campaign. */
  readonly bystanders: readonly string[];
  /** How often leaders give up. 0: they lead as long as they can. */
  readonly unrest: number;
  /**
   * True: machines may sleep. False: wall clocks may be set back by any time at any moment. A
   * process could not notice both at once within one round.
   */
  readonly sleepy: boolean;
  readonly startWithinMs: number;
  readonly stormMs: number;
}

export type CutHow = 'deaf' | 'mute' | 'both';

/**
 * An event that triggers a fault: a message's type, `write` or `elected`. Its subject is the member
 * that caused it.
 */
export type Trigger = string;

export type When = { readonly atMs: number } | { readonly on: Trigger; readonly nth: number; readonly afterMs: number };

/**
 * `subject`: the subject of the trigger. `leader`: a member that leads, or, in an open membership,
 * one that coordinates. Otherwise a member's id.
 */
export type Target = string;

/** Lasting faults end after `forMs`, and at the latest at the end of the storm. */
export type FaultKind =
  /** Crashes a member. A write in progress reaches the disk or is lost. */
  | { readonly kind: 'crash'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  /** Closes a member in the normal way. */
  | { readonly kind: 'leave'; readonly target: Target; readonly forMs: number }
  /** A write fails, which ends the member. The disk has the data or not. */
  | { readonly kind: 'badDisk'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  | { readonly kind: 'pause' | 'block' | 'suspend'; readonly target: Target; readonly forMs: number }
  /** Aborts the campaign of a member, which does not lead. Later, the member campaigns again. */
  | { readonly kind: 'withdraw'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'isolate'; readonly target: Target; readonly how: CutHow; readonly forMs: number }
  /** Restarts all other members at once, while this one is cut off. */
  | { readonly kind: 'blip'; readonly target: Target; readonly forMs: number }
  /** Two sides that do not receive each other's messages. */
  | { readonly kind: 'split'; readonly side: readonly string[]; readonly oneWay: boolean; readonly forMs: number }
  /** Several sides. */
  | { readonly kind: 'shatter'; readonly sides: readonly (readonly string[])[]; readonly forMs: number }
  /** Two sides, and one member that reaches both. */
  | { readonly kind: 'bridge'; readonly side: readonly string[]; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'lossy' | 'duplicating'; readonly part: number; readonly forMs: number }
  /** This part of all messages takes this much longer. */
  | { readonly kind: 'slow'; readonly part: number; readonly byMs: number; readonly forMs: number }
  | { readonly kind: 'wallJump'; readonly target: Target; readonly byMs: number }
  /** Backwards, where nobody sleeps so close to it that it could not be noticed. */
  | { readonly kind: 'setBack'; readonly target: Target; readonly byMs: number };

export type Fault = FaultKind & { readonly when: When };

export interface Plan<G extends Ground = Ground> {
  readonly seed: number;
  readonly shape: G;
  readonly faults: readonly Fault[];
}
