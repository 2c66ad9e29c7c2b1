/** The plan that a seed stands for: the members of a world and their faults, as data. */

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
  /**
   * So much of all messages comes again, long after; and so it is with each second word of a leader
   * that has given up.
   */
  readonly echoes: number;
  readonly writeMs: number;
  /** Take part, and never lead. */
  readonly bystanders: readonly string[];
  /** How restless leaders are: 0 they lead for as long as they can. */
  readonly unrest: number;
  /**
   * Machines sleep, else wall clocks are set back by any time at any moment: both at once, within
   * one round, nobody can notice.
   */
  readonly sleepy: boolean;
  readonly startWithinMs: number;
  readonly stormMs: number;
}

export type CutHow = 'deaf' | 'mute' | 'both';

/**
 * Something that was just sent, cast or won; a fault can wait for it. The subject is whose doing it
 * was. A message's type, `write`, or `elected`.
 */
export type Trigger = string;

export type When = { readonly atMs: number } | { readonly on: Trigger; readonly nth: number; readonly afterMs: number };

/**
 * `subject`: of the trigger; `leader`: whoever believes, or, where members come and go, one that
 * coordinates them; else a member's id.
 */
export type Target = string;

/** All that last are over after `forMs`, and at the end of the storm. */
export type FaultKind =
  /** A write that is under way has come through, or has not. */
  | { readonly kind: 'crash'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  /** It ends as it should. */
  | { readonly kind: 'leave'; readonly target: Target; readonly forMs: number }
  /** It dies of a write that fails; the disk has it, or not. */
  | { readonly kind: 'badDisk'; readonly target: Target; readonly forMs: number; readonly writeLost: boolean }
  | { readonly kind: 'pause' | 'block' | 'suspend'; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'isolate'; readonly target: Target; readonly how: CutHow; readonly forMs: number }
  /** All others are restarted at once, while it is cut off. */
  | { readonly kind: 'blip'; readonly target: Target; readonly forMs: number }
  /** Two sides that do not hear each other. */
  | { readonly kind: 'split'; readonly side: readonly string[]; readonly oneWay: boolean; readonly forMs: number }
  /** Several sides. */
  | { readonly kind: 'shatter'; readonly sides: readonly (readonly string[])[]; readonly forMs: number }
  /** Two sides, and one member that hears both. */
  | { readonly kind: 'bridge'; readonly side: readonly string[]; readonly target: Target; readonly forMs: number }
  | { readonly kind: 'lossy' | 'duplicating'; readonly part: number; readonly forMs: number }
  /** So much of all messages takes so much longer. */
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
