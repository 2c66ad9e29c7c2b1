/**
 * What happened in a run, as data: one event a line of JSON, each stamped with the host's one
 * monotonic clock, in ms since the run began. The checker, the table and the picture read nothing
 * else.
 */

/** One life of a member: `m1#2` is the second process of the member m1. */
export type Who = string;

/** What the run was, so that its history explains itself. */
export interface RunHeader {
  readonly type: 'run';
  readonly at: number;
  readonly store: string;
  /** The server's own word. */
  readonly version: string;
  readonly commit: string;
  readonly seed: number;
  readonly minutes: number;
  readonly members: readonly string[];
  readonly servers: readonly string[];
  readonly ttlMs: number;
  /** Once everything is healed, somebody leads within so many ms. */
  readonly recoveryMs: number;
  /** A server that is killed comes back with nothing. */
  readonly forgets?: boolean;
  /** While one server is sick and a quorum is healthy, somebody leads within so many ms. */
  readonly sickMs: number;
  /** While members' watches are silent and their calls go through, likewise. */
  readonly silentMs: number;
  /**
   * Why the store may end a lease that it vouches for; undefined: it is not excused where it does.
   */
  readonly endsEarly?: string;
  /** Members that reach all servers through one address. */
  readonly oneAddress?: readonly string[];
}

/** A fault of the plan, or an operator's deed. `missed`: it found nothing to hit. */
export type FaultEvent = {
  readonly type: 'fault';
  readonly at: number;
  readonly id: number;
  readonly fault: string;
  readonly target: string;
  readonly what: 'begins' | 'hit' | 'ends' | 'missed';
};

/**
 * `storm`: faults come. `calm`: all are healed, and none comes. `asked`: the members have been
 * asked who leads. `over`: the members are told to leave.
 */
export type Phase = 'storm' | 'calm' | 'asked' | 'over';

export type ChaosEvent =
  | RunHeader
  | FaultEvent
  | { readonly type: 'phase'; readonly at: number; readonly phase: Phase }
  | { readonly type: 'started'; readonly at: number; readonly who: Who }
  /** The process has closed its member and its store in good order: it ends next. */
  | { readonly type: 'closed'; readonly at: number; readonly who: Who }
  /** The process has ended; `wanted`: it was killed, or told to leave. */
  | { readonly type: 'died'; readonly at: number; readonly who: Who; readonly wanted: boolean; readonly output: readonly string[] }
  | { readonly type: 'elected'; readonly at: number; readonly who: Who; readonly term: bigint }
  /**
   * `isValid()` said true at `from`, and last at `at`; each moment was taken before the question,
   * so that the belief held then or later.
   */
  | { readonly type: 'valid'; readonly from: number; readonly at: number; readonly who: Who; readonly term: bigint }
  | EndedEvent
  | AnnouncedEvent
  | RenewedEvent
  /**
   * The store keeps this lease no longer, as a linearizable read past all proxies has shown. `by`:
   * the server that was asked.
   */
  | { readonly type: 'leaseGone'; readonly at: number; readonly lease: string; readonly by: string }
  /** Work of this term, that was to stop, has stopped. */
  | { readonly type: 'stopped'; readonly at: number; readonly who: Who; readonly term: bigint }
  /** A write reached a resource that knows no store: one with a fence, or its twin without. */
  | WroteEvent
  | SwappedEvent
  /** What an observer shows. */
  | ({ readonly type: 'shown'; readonly at: number; readonly who: Who } & View)
  /** The answer to being asked who leads, in calm: an observer's view, and a linearizable read. */
  | { readonly type: 'answered'; readonly at: number; readonly who: Who; readonly view: View; readonly read: bigint | undefined }
  /** The wall clock of a process was seen to jump. */
  | { readonly type: 'jumped'; readonly at: number; readonly who: Who; readonly byMs: number }
  /** `lead` has rejected. */
  | { readonly type: 'failed'; readonly at: number; readonly who: Who; readonly error: string }
  /** The last write of a term that is found in the store when all is over. */
  | { readonly type: 'kept'; readonly at: number; readonly term: bigint; readonly n: number }
  /** What is left in the store after everybody has left. */
  | { readonly type: 'left'; readonly at: number; readonly keys: readonly string[] }
  /** The run's own process stood still for so long: the machine was busy. */
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
  /**
   * How long ago the last renewal was that the store has acknowledged, by the process's wall clock,
   * in ms.
   */
  readonly renewedMsAgo: number;
  readonly loopBlockedMs: number;
}

/**
 * What a process was told by the SDK's diagnostics channels `incumbent:elected` and
 * `incumbent:ended`.
 */
interface AnnouncedEvent {
  readonly type: 'announced';
  readonly at: number;
  readonly who: Who;
  readonly what: 'elected' | 'ended';
  readonly term: bigint;
  /** Of `elected`: the lease that the leadership rests on. */
  readonly lease?: string;
}

/**
 * The store acknowledged a grant or a renewal, and vouches for the lease until `from + ttlMs` at
 * the latest.
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
  /** The highest term that it had accepted before. */
  readonly highest: bigint;
}

/** A write in the store with the guard, sent whether the member believed that it leads or not. */
export interface SwappedEvent {
  readonly type: 'swapped';
  /** When it was sent. */
  readonly from: number;
  readonly at: number;
  readonly who: Who;
  readonly term: bigint;
  readonly n: number;
  /**
   * `refused`: by the guard. `outOfDate`: the member did not know what it had written last.
   * `notDone`: it certainly did not happen, for another reason.
   */
  readonly outcome: 'swapped' | 'refused' | 'outOfDate' | 'unknown' | 'notDone';
}

export type Of<T extends ChaosEvent['type']> = Extract<ChaosEvent, { readonly type: T }>;

/** Those of one type, in their order. */
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

/** A history as it was written, line by line. */
export function readHistory(text: string): readonly ChaosEvent[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line, (name, value: unknown) => (TERMS.has(name) ? BigInt(String(value)) : value)));
}
