/** What happens in a world, told to whoever checks it. Checkers know nothing of a world but this. */

import type { FaultKind } from '../plan/fault.ts';
import type { RunState } from '../time/process.ts';
import type { HangMode } from '../store/disks.ts';
import type { RequestInfo } from '../store/shape.ts';
import type { Cause } from '../store/state.ts';

/** A process, as far as a checker cares. */
export interface ProcessView {
  /** Its own alone: another for every start. */
  readonly name: string;
  readonly state: RunState;
}

/** A leadership in the hands of a process. */
export interface LeadershipView {
  readonly process: ProcessView;
  readonly election: string;
  readonly term: bigint;
  /** To be asked only while code of its process may run. */
  isValid(): boolean;
  /** Whether the SDK knows of the work, and so waits for it to stop. */
  readonly waits: boolean;
}

/**
 * `storm`: faults. `calm`: all is repaired. `deposed`: an operator has deleted the leader's record. `failover`: the leader has crashed. `closing`:
 * everybody stops. `over`: nobody is left.
 */
export type Phase = 'storm' | 'calm' | 'deposed' | 'failover' | 'closing' | 'over';

/** What an observer was shown. */
export interface ObserverView {
  readonly state: 'leader' | 'vacant' | 'unknown';
  readonly term?: bigint;
  readonly reason?: string;
  /** What the leader publishes. */
  readonly value?: unknown;
}

/** Where a leader's work goes. `guarded`: into the store, by the leadership; `unguarded`: into the store, by itself; `fenced`: elsewhere, past a fence. */
export type Resource = 'guarded' | 'unguarded' | 'fenced';

/** What a process that has ended has left. */
export interface Leftovers {
  readonly timers: number;
  readonly holds: number;
  readonly watches: number;
  /** At the store, for as long as nobody revokes them. */
  readonly leases: number;
}

interface MemberState {
  readonly process: ProcessView;
  readonly keys: readonly string[];
  /** How many leases it has. */
  readonly leases: number;
}

export type WorldEvent =
  | { readonly type: 'phase'; readonly phase: Phase }
  /** `how`: what else is known of the fault, in words. */
  | { readonly type: 'faultInjected'; readonly kind: FaultKind; readonly target: string | undefined; readonly how?: string }
  | { readonly type: 'started'; readonly process: ProcessView }
  | { readonly type: 'died'; readonly process: ProcessView }
  /** The first thing after it stood still. */
  | { readonly type: 'resumed'; readonly process: ProcessView }
  /** The store has written a new term. `by` did it, for itself or, in a handover, for another. */
  | { readonly type: 'issued'; readonly election: string; readonly term: bigint; readonly memberId: string; readonly by: string }
  /** The leader's record of a term is no longer in the store. */
  | { readonly type: 'recordGone'; readonly election: string; readonly term: bigint; readonly cause: Cause }
  /** The leader's record as the store has it now; without a term where there is none. */
  | { readonly type: 'record'; readonly election: string; readonly term: bigint | undefined; readonly value: unknown }
  /** A candidate's entry that an operator deleted is there again: its enqueue was applied once more, late. Who looked before may take it to stand where it stood. */
  | { readonly type: 'requeued'; readonly election: string; readonly name: string }
  | { readonly type: 'elected'; readonly handle: LeadershipView }
  | { readonly type: 'aborted'; readonly handle: LeadershipView }
  /** `seenTerm`: the newer term that ended it. */
  | { readonly type: 'ended'; readonly handle: LeadershipView; readonly reason: string; readonly lost: boolean; readonly seenTerm?: bigint }
  /** The work of a leader has stopped. */
  | { readonly type: 'workStopped'; readonly handle: LeadershipView }
  | { readonly type: 'released'; readonly handle: LeadershipView }
  /** A process has taken its member id from another, which lives. */
  | { readonly type: 'replaced'; readonly process: string; readonly by: string }
  /** A process still keeps the session whose id was taken, when all has been calm for so long that it knows. */
  | { readonly type: 'replacedSessionKept'; readonly process: ProcessView }
  /** A process has heard nothing from the store for so long that it knows. */
  | { readonly type: 'isolated'; readonly process: ProcessView }
  /** The leader has crashed, and from now on nobody hears of anything by a watch. */
  | { readonly type: 'watchesSilenced' }
  /** The leader has crashed, and the disk of one of several servers hangs. */
  | { readonly type: 'serverHung'; readonly server: number; readonly hung: HangMode }
  /** In calm, every connection has gone silent, for good. New ones work. */
  | { readonly type: 'connectionsSilenced' }
  /** In calm, before the leader is deposed: what stands in the queue, and the term of the leader's record. */
  | { readonly type: 'queue'; readonly names: readonly string[]; readonly record: bigint | undefined }
  /** Then, too: the keys that hang on the leases of each member's process, and who is in the group. */
  | { readonly type: 'calmState'; readonly members: readonly MemberState[]; readonly group: readonly string[] }
  /** The usual program of a member has left its group for good; campaigns no more; is shown the members of its group; has published something. */
  | { readonly type: 'leftGroup'; readonly process: ProcessView }
  | { readonly type: 'stoppedCampaigning'; readonly process: ProcessView }
  | { readonly type: 'groupMembers'; readonly process: ProcessView; readonly ids: readonly string[] }
  | { readonly type: 'published'; readonly process: ProcessView; readonly term: bigint; readonly value: unknown }
  /** A write was accepted, or refused, where it went. */
  | { readonly type: 'wrote'; readonly to: Resource; readonly term: bigint }
  | { readonly type: 'refused'; readonly to: Resource; readonly term: bigint }
  /** `name`: which of its process's observers, where it has several. */
  | { readonly type: 'shown'; readonly observer: ProcessView; readonly view: ObserverView; readonly name?: string }
  /** That one was closed, and its process goes on. */
  | { readonly type: 'observerClosed'; readonly observer: ProcessView; readonly name: string }
  /** The store received a request from a process. */
  | ({ readonly type: 'request'; readonly by: string } & RequestInfo)
  /** A program tells what it does, for whoever reads the timeline. */
  | { readonly type: 'noted'; readonly process: ProcessView; readonly text: string }
  /** Core told its logger; about which election and term, where the event says so. */
  | { readonly type: 'logged'; readonly process: ProcessView; readonly message: string; readonly election?: string; readonly term?: string }
  /** A call of the SDK failed in a way that it should not have. */
  | { readonly type: 'unexpectedError'; readonly process: ProcessView; readonly error: unknown }
  /** A member was closed, which took so long by its own clock. */
  | { readonly type: 'closed'; readonly process: ProcessView; readonly tookMs: number }
  | { readonly type: 'programEnded'; readonly process: ProcessView }
  /** A process whose program has ended is gone, and this is what was left of it. */
  | { readonly type: 'stopped'; readonly process: ProcessView; readonly left: Leftovers }
  /** At the end: what the store still holds, but terms and tables. */
  | { readonly type: 'final'; readonly keys: readonly string[]; readonly leases: number; readonly watches: number };

/** Hears of everything, in order, at its instant in world time. */
export interface Listener {
  onEvent(event: WorldEvent, atMs: number): void;
}
