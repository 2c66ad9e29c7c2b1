/**
 * The events of a run as data: one JSON line for each, with a timestamp by the host's monotonic
 * clock, in ms since the run began. The checker, the table and the picture read nothing else.
 */

/** One process of a member: `m1#2` is the second process of the member m1. */
export type Who = string;

/** The properties of the run, so that its history can be read alone. */
export interface RunHeader {
  readonly type: 'run';
  readonly at: number;
  readonly store: string;
  /** As the server reports it. */
  readonly version: string;
  readonly commit: string;
  readonly seed: number;
  readonly minutes: number;
  readonly members: readonly string[];
  readonly servers: readonly string[];
  readonly ttlMs: number;
  /** Once all faults are healed, a member leads within this many ms. */
  readonly recoveryMs: number;
  /** Whether a server that is killed comes back without data. */
  readonly forgets?: boolean;
  /** While one server is faulty and a quorum works, a member leads within this many ms. */
  readonly sickMs: number;
  /**
   * While members' watches are silent and their calls succeed, a member leads within this many ms.
   */
  readonly silentMs: number;
  /**
   * The reason for which the store may end a lease before the time that it guaranteed. Undefined:
   * this is a violation.
   */
  readonly endsEarly?: string;
  /** Members that reach all servers through one address. */
  readonly oneAddress?: readonly string[];
}

/** A fault of the plan, or a change by an operator. `missed`: there was nothing to hit. */
export type FaultEvent = {
  readonly type: 'fault';
  readonly at: number;
  readonly id: number;
  readonly fault: string;
  readonly target: string;
  readonly what: 'begins' | 'hit' | 'ends' | 'missed';
};

/**
 * `storm`: faults happen. `calm`: all faults are healed, and none follows. `asked`: the members
 * have been asked who leads. `over`: the members are told to leave.
 */
export type Phase = 'storm' | 'calm' | 'asked' | 'over';

export type ChaosEvent =
  | RunHeader
  | FaultEvent
  | { readonly type: 'phase'; readonly at: number; readonly phase: Phase }
  | { readonly type: 'started'; readonly at: number; readonly who: Who }
  /** The process has closed its member and its store in good order, and ends next. */
  | { readonly type: 'closed'; readonly at: number; readonly who: Who }
  /** The process has ended. `wanted`: it was killed, or told to leave. */
  | { readonly type: 'died'; readonly at: number; readonly who: Who; readonly wanted: boolean; readonly output: readonly string[] }
  | { readonly type: 'elected'; readonly at: number; readonly who: Who; readonly term: bigint }
  /**
   * `isValid()` returned true from `from` until `at`. Each timestamp was taken before the call, so
   * the leadership was valid then or later.
   */
  | { readonly type: 'valid'; readonly from: number; readonly at: number; readonly who: Who; readonly term: bigint }
  | EndedEvent
  | AnnouncedEvent
  | RenewedEvent
  /**
   * The store no longer has this lease, as a linearizable read past all proxies has shown. `by`:
   * the server that was asked.
   */
  | { readonly type: 'leaseGone'; readonly at: number; readonly lease: string; readonly by: string }
  /** Work of this term that was told to stop has stopped. */
  | { readonly type: 'stopped'; readonly at: number; readonly who: Who; readonly term: bigint }
  /** A write reached a resource outside the store: one with a fence, or the other without. */
  | WroteEvent
  | SwappedEvent
  /** What an observer shows. */
  | ({ readonly type: 'shown'; readonly at: number; readonly who: Who } & View)
  /** The answer to the question who leads, in calm: an observer's view, and a linearizable read. */
  | { readonly type: 'answered'; readonly at: number; readonly who: Who; readonly view: View; readonly read: bigint | undefined }
  /** The wall clock of a process jumped. */
  | { readonly type: 'jumped'; readonly at: number; readonly who: Who; readonly byMs: number }
  /** `lead` has rejected. */
  | { readonly type: 'failed'; readonly at: number; readonly who: Who; readonly error: string }
  /**
   * The repair of a fault has failed: a member or a server does not come back. `target`: what the
   * fault hit.
   */
  | { readonly type: 'unrepaired'; readonly at: number; readonly fault: string; readonly target: string; readonly error: string }
  /** The last write of a term that the store contains at the end. */
  | { readonly type: 'kept'; readonly at: number; readonly term: bigint; readonly n: number }
  /** What the store contains after all members have left. */
  | { readonly type: 'left'; readonly at: number; readonly keys: readonly string[] }
  /** The run's own process was delayed for this many ms: the machine was busy. */
  | { readonly type: 'lagged'; readonly at: number; readonly ms: number };

export interface View {
  readonly state: 'leader' | 'vacant' | 'unknown';
  readonly term?: bigint;
  readonly reason?: string;
}

export interface EndedEvent {
  readonly type: 'ended';
  readonly at: number;
  readonly who: Who;
  readonly term: bigint;
  readonly reason: string;
  readonly lost: boolean;
  /** How long ago the store acknowledged the last renewal, by the process's wall clock, in ms. */
  readonly renewedMsAgo: number;
  readonly loopBlockedMs: number;
}

/**
 * What the SDK's diagnostics channels `incumbent:elected` and `incumbent:ended` reported in a
 * process.
 */
interface AnnouncedEvent {
  readonly type: 'announced';
  readonly at: number;
  readonly who: Who;
  readonly what: 'elected' | 'ended';
  readonly term: bigint;
  /** Of `elected`: the lease of the leadership. */
  readonly lease?: string;
}

/**
 * The store acknowledged a grant or a renewal, and guarantees the lease until `from + ttlMs` at the
 * latest.
 */
interface RenewedEvent {
  readonly type: 'renewed';
  /** When the renewal was sent, or the grant was acknowledged. */
  readonly from: number;
  readonly at: number;
  readonly who: Who;
  readonly lease: string;
  readonly ttlMs: number;
}

interface WroteEvent {
  readonly type: 'wrote';
  readonly at: number;
  readonly who: Who;
  readonly term: bigint;
  readonly to: 'fenced' | 'unguarded';
  readonly accepted: boolean;
  /** The highest term that the resource had accepted before. */
  readonly highest: bigint;
}

/** A guarded write in the store, sent whether or not the leadership was valid. */
export interface SwappedEvent {
  readonly type: 'swapped';
  /** When it was sent. */
  readonly from: number;
  readonly at: number;
  readonly who: Who;
  readonly term: bigint;
  readonly n: number;
  /**
   * `refused`: by the guard. `outOfDate`: the member did not know its own last write. `notDone`:
   * the store certainly did not apply it, for another reason.
   */
  readonly outcome: 'swapped' | 'refused' | 'outOfDate' | 'unknown' | 'notDone';
}

export type Of<T extends ChaosEvent['type']> = Extract<ChaosEvent, { readonly type: T }>;

/** The events of one type, in their order. */
export function only<T extends ChaosEvent['type']>(history: readonly ChaosEvent[], type: T): readonly Of<T>[] {
  return history.filter((event): event is Of<T> => event.type === type);
}

export function headerOf(history: readonly ChaosEvent[]): RunHeader {
  const [header] = only(history, 'run');
  if (header === undefined) throw new Error('a history that does not say what was run');
  return header;
}

const TERMS = new Set(['term', 'highest', 'read']);

export function writeEvent(event: ChaosEvent): string {
  return JSON.stringify(event, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** Reads a history as it was written, line by line. */
export function readHistory(text: string): readonly ChaosEvent[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line, (name, value: unknown) => (TERMS.has(name) ? BigInt(String(value)) : value)));
}
