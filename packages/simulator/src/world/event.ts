/** The events of a world. They are all that checkers know of it. */

import type { FaultKind } from '../plan/fault.ts';
import type { RunState } from '../time/process.ts';
import type { HangMode } from '../store/disks.ts';
import type { RequestInfo } from '../store/shape.ts';
import type { Cause } from '../store/state.ts';

/** A process, as far as checkers need it. */
export interface ProcessView {
  /** A unique name. Every start of a process has another one. */
  readonly name: string;
  readonly state: RunState;
}

/** A leadership that a process holds. */
export interface LeadershipView {
  readonly process: ProcessView;
  readonly election: string;
  readonly term: bigint;
  /** Call this only while code of its process may run. */
  isValid(): boolean;
  /** Call this only while code of its process may run. */
  remainingMs(): number;
  /** Read this only while code of its process may run. */
  readonly state: 'valid' | 'suspect' | 'ended';
  /** Whether the SDK tracks the work, and so waits for it to stop. */
  readonly waits: boolean;
}

/**
 * The phases of a world. `storm`: faults happen. `calm`: everything is repaired. `deposed`: an
 * operator has deleted the leader's record. `failover`: the leader has crashed. `closing`: all
 * programs stop. `over`: all programs have stopped.
 */
export type Phase = 'storm' | 'calm' | 'deposed' | 'failover' | 'closing' | 'over';

/** What an observer showed. */
export interface ObserverView {
  readonly state: 'leader' | 'vacant' | 'unknown';
  readonly term?: bigint;
  readonly reason?: string;
  /** The value that the leader published. */
  readonly value?: unknown;
}

/**
 * Where a leader's work writes. `guarded`: to the store, through the leadership. `unguarded`: to
 * the store, directly. `fenced`: to a resource behind a fence.
 */
export type Resource = 'guarded' | 'unguarded' | 'fenced';

/** What an operator can request of a leader. */
export type RequestKind = 'stepDown' | 'handover';

/** What a process that has ended left behind. */
export interface Leftovers {
  readonly timers: number;
  readonly holds: number;
  readonly watches: number;
  /** Leases at the store that nobody has revoked. */
  readonly leases: number;
}

interface MemberState {
  readonly process: ProcessView;
  readonly keys: readonly string[];
  /** How many leases the process has. */
  readonly leases: number;
}

/** An event of a world. `type` distinguishes the events. */
export type WorldEvent =
  | { readonly type: 'phase'; readonly phase: Phase }
  /** A fault has taken effect. `how`: further properties of the fault, in words. */
  | { readonly type: 'faultInjected'; readonly kind: FaultKind; readonly target: string | undefined; readonly how?: string }
  | { readonly type: 'started'; readonly process: ProcessView }
  | { readonly type: 'died'; readonly process: ProcessView }
  /** The first event after the process was stopped. */
  | { readonly type: 'resumed'; readonly process: ProcessView }
  /**
   * The store has written a new term. `by` wrote it, for itself or, in a handover, for another
   * member.
   */
  | { readonly type: 'issued'; readonly election: string; readonly term: bigint; readonly memberId: string; readonly by: string }
  /** The leader's record of a term was deleted from the store. */
  | { readonly type: 'recordGone'; readonly election: string; readonly term: bigint; readonly cause: Cause }
  /** The entry that the last term names was deleted from the store. `term`: that term. */
  | { readonly type: 'entryGone'; readonly election: string; readonly term: bigint; readonly cause: Cause }
  /** The leader's record in the store now. Without a term if there is no record. */
  | { readonly type: 'record'; readonly election: string; readonly term: bigint | undefined; readonly value: unknown }
  /**
   * A candidate's entry that an operator deleted exists again, because its enqueue was applied once
   * more, late. A client that has read the queue before may assume the old position.
   */
  | { readonly type: 'requeued'; readonly election: string; readonly name: string }
  | { readonly type: 'elected'; readonly handle: LeadershipView }
  | { readonly type: 'aborted'; readonly handle: LeadershipView }
  /** `seenTerm`: the newer term that ended the leadership. */
  | { readonly type: 'ended'; readonly handle: LeadershipView; readonly reason: string; readonly lost: boolean; readonly seenTerm?: bigint }
  /** The work of a leader has stopped. */
  | { readonly type: 'workStopped'; readonly handle: LeadershipView }
  | { readonly type: 'released'; readonly handle: LeadershipView }
  /**
   * A process has reported to its leadership that a fence has seen this term. The next term of its
   * member is at least that term plus one, even if the leadership was over by then.
   */
  | { readonly type: 'termSeen'; readonly process: ProcessView; readonly election: string; readonly term: bigint }
  /** A process has taken its member id from another process that lives. */
  | { readonly type: 'replaced'; readonly process: string; readonly by: string }
  /**
   * A process still keeps the session whose id was taken, although it has had time in calm to
   * notice.
   */
  | { readonly type: 'replacedSessionKept'; readonly process: ProcessView }
  /** A process has received nothing from the store for so long that it must have noticed. */
  | { readonly type: 'isolated'; readonly process: ProcessView }
  /** The leader has crashed, and from now on no watch reports anything. */
  | { readonly type: 'watchesSilenced' }
  /** The leader has crashed, and the disk of one of several servers hangs. */
  | { readonly type: 'serverHung'; readonly server: number; readonly hung: HangMode }
  /** In calm, every connection has gone silent permanently. New connections work. */
  | { readonly type: 'connectionsSilenced' }
  /**
   * In calm, before the leader is deposed: the entries of the queue, and the term of the leader's
   * record.
   */
  | { readonly type: 'queue'; readonly names: readonly string[]; readonly record: bigint | undefined }
  /**
   * At the same time: the keys bound to the leases of each member's process, and the members of the
   * group.
   */
  | { readonly type: 'calmState'; readonly members: readonly MemberState[]; readonly group: readonly string[] }
  /**
   * The default program of a member has left its group for good, has stopped campaigning, has seen
   * the members of its group, or has published a value.
   */
  | { readonly type: 'leftGroup'; readonly process: ProcessView }
  | { readonly type: 'stoppedCampaigning'; readonly process: ProcessView }
  | { readonly type: 'groupMembers'; readonly process: ProcessView; readonly ids: readonly string[] }
  | { readonly type: 'published'; readonly process: ProcessView; readonly term: bigint; readonly value: unknown }
  /** An operator is about to send a request to the leader of a term. */
  | {
      readonly type: 'requested';
      readonly process: ProcessView;
      readonly election: string;
      readonly term: bigint;
      readonly request: RequestKind;
    }
  /** That request is written, or the term is over. */
  | {
      readonly type: 'requestWritten';
      readonly process: ProcessView;
      readonly election: string;
      readonly term: bigint;
      readonly request: RequestKind;
    }
  /** A resource accepted or rejected a write. */
  | { readonly type: 'wrote'; readonly to: Resource; readonly term: bigint }
  | { readonly type: 'refused'; readonly to: Resource; readonly term: bigint }
  /** `name`: the observer, if its process has several. */
  | { readonly type: 'shown'; readonly observer: ProcessView; readonly view: ObserverView; readonly name?: string }
  /** This observer was closed, and its process continues. */
  | { readonly type: 'observerClosed'; readonly observer: ProcessView; readonly name: string }
  /** The store received a request from a process. */
  | ({ readonly type: 'request'; readonly by: string } & RequestInfo)
  /** A program's own line in the timeline. */
  | { readonly type: 'noted'; readonly process: ProcessView; readonly text: string }
  /** Core called its logger. Names the election, the term and the reason if the event does. */
  | {
      readonly type: 'logged';
      readonly process: ProcessView;
      readonly message: string;
      readonly election?: string;
      readonly term?: string;
      readonly reason?: string;
    }
  /** A call of the SDK failed unexpectedly. */
  | { readonly type: 'unexpectedError'; readonly process: ProcessView; readonly error: unknown }
  /** A member was closed. The duration is by its own clock, in ms. */
  | { readonly type: 'closed'; readonly process: ProcessView; readonly tookMs: number }
  | { readonly type: 'programEnded'; readonly process: ProcessView }
  /** A process has ended after its program, and has left this behind. */
  | { readonly type: 'stopped'; readonly process: ProcessView; readonly left: Leftovers }
  /** At the end: the keys that the store still holds, except terms and tables. */
  | { readonly type: 'final'; readonly keys: readonly string[]; readonly leases: number; readonly watches: number };

/** Receives every event, in order, at its instant in world time. */
export interface Listener {
  onEvent(event: WorldEvent, atMs: number): void;
}
