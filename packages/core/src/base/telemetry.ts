/**
 * Events for logs and metrics. Each event is published on the channel `incumbent:<event>` of
 * `node:diagnostics_channel`, and passed to the logger if there is one. A channel without
 * subscribers costs nothing. An error that the logger throws is ignored. An error that a channel's
 * subscriber throws becomes an uncaught exception of the process: Node raises it later.
 */

import diagnosticsChannel, { type Channel } from 'node:diagnostics_channel';
import { withJson } from './json.ts';
import { hasMethods, invalidOption } from './validate.ts';

/**
 * The methods that pino, `console` and most loggers share. Errors that they throw are ignored. The
 * fields include `event`, the name of the event.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Level = keyof Logger;

/** The name of an event, which is published on the channel `incumbent:<name>`. */
export type TelemetryEvent =
  | 'sessionOpened'
  | 'sessionReopened'
  | 'sessionRenewed'
  | 'sessionSuspect'
  | 'sessionRecovered'
  | 'sessionKept'
  | 'sessionEnded'
  | 'memberClosed'
  | 'loopLag'
  | 'duplicateMember'
  | 'joined'
  | 'left'
  | 'waiting'
  | 'notified'
  | 'claimed'
  | 'termWentBack'
  | 'elected'
  | 'workStarted'
  | 'ended'
  | 'drained'
  | 'released'
  | 'stuck'
  | 'unstuck'
  | 'workFailed'
  | 'evicted'
  | 'retry'
  | 'watchStale'
  | 'foreignData'
  | 'groupLeft'
  | 'groupRejoined'
  | 'rebalanced'
  | 'handoverRequested'
  | 'subscriberFailed'
  | 'storeEndsEarly'
  | 'reaperReady'
  | 'reaperLost'
  | 'renewerReady'
  | 'renewerLost'
  | 'observed'
  | 'messageRefused'
  | 'connectionRefused'
  | 'peerConnected'
  | 'peerDisconnected'
  | 'peerFailed'
  | 'peerConflict'
  | 'membersChanged'
  | 'storageSlow'
  | 'seedsFailed';

/** The log level and text of each event. Undefined if the event is for metrics and traces only. */
const events: Readonly<Record<TelemetryEvent, readonly [Level, string] | undefined>> = {
  sessionOpened: ['debug', 'session opened'],
  sessionReopened: ['info', 'this member has a session again'],
  sessionRenewed: undefined,
  sessionSuspect: ['warn', 'a renewal is overdue'],
  sessionRecovered: ['info', 'renewals are acknowledged again'],
  sessionKept: ['warn', 'the event loop was blocked past the deadline; the renewer has kept the lease'],
  sessionEnded: ['warn', 'session ended'],
  memberClosed: ['debug', 'the member has closed'],
  loopLag: ['warn', 'the event loop was blocked: the commonest cause of a lost leadership'],
  duplicateMember: ['warn', 'another process holds this member id'],
  joined: ['debug', 'joined the queue of an election'],
  left: ['debug', 'left the queue of an election'],
  waiting: ['debug', 'waiting behind another candidate'],
  notified: undefined,
  claimed: undefined,
  termWentBack: ['error', 'the store has lost terms: it was wiped or restored, or the key term was deleted'],
  elected: ['info', 'elected'],
  workStarted: undefined,
  ended: ['info', 'leadership ended'],
  drained: undefined,
  released: ['debug', 'leadership released'],
  stuck: ['error', 'the work did not stop within the drain'],
  unstuck: ['info', 'the work that was stuck has stopped'],
  workFailed: ['warn', 'the work failed'],
  evicted: ['warn', 'passed over candidates that did not claim'],
  retry: ['warn', 'a call to the store failed; it is tried again'],
  watchStale: ['debug', 'a watch cannot vouch for its last state'],
  foreignData: ['error', 'a key of the SDK holds data that this process cannot read'],
  groupLeft: ['error', 'this member is not in its group any more, and fails to join it again'],
  groupRejoined: ['info', 'this member is in its group again'],
  rebalanced: ['info', 'handed over to a candidate that is preferred'],
  handoverRequested: ['info', 'an operator requests a handover'],
  subscriberFailed: ['error', 'a subscriber threw'],
  storeEndsEarly: ['warn', 'this store may end a lease that is being renewed'],
  observed: undefined,
  reaperReady: ['debug', 'the reaper is there: if this process dies, its leases end at once'],
  reaperLost: ['warn', 'there is no reaper: if this process dies, its leases end only after their ttl'],
  renewerReady: ['debug', 'the renewer is there: leases are renewed while the event loop is blocked'],
  renewerLost: ['warn', 'there is no renewer: a blocked event loop ends leaderships'],
  messageRefused: ['warn', 'refused a message of another member'],
  connectionRefused: ['warn', 'refused a connection, or its data'],
  peerConnected: ['info', 'connected with another member'],
  peerDisconnected: ['warn', 'no longer connected with another member'],
  peerFailed: [
    'error',
    'this member has ended: its vote could not be written down, it was not told how far its data reach, or it found no members to join',
  ],
  peerConflict: ['error', 'members contradict each other: is one of them cloned, or its vote restored, or two set up with one id?'],
  membersChanged: ['warn', 'the members are others than when this member voted last: all of them must have the same list'],
  storageSlow: ['warn', 'the vote storage does not answer'],
  seedsFailed: ['warn', 'could not find out who the seeds are; asked again'],
};

/** The names of all events. */
export const telemetryEvents: readonly string[] = Object.keys(events);

/** Kept here because Node looks a channel up by its name on each call. */
const channels = new Map<TelemetryEvent, Channel>();

function channelOf(event: TelemetryEvent): Channel {
  const known = channels.get(event);
  if (known !== undefined) return known;
  const channel = diagnosticsChannel.channel(`incumbent:${event}`);
  channels.set(event, channel);
  return channel;
}

/**
 * The fields of an event. They always include the identity of the member or observer. The event
 * determines the others.
 */
export type TelemetryFields = Readonly<Record<string, unknown>>;

/** What a member was doing when a call to the store failed: the `doing` of the event `retry`. */
export type RetryActivity =
  | 'openingSession'
  | 'revokingLease'
  | 'restoringMemberKey'
  /** A campaign adds its entry to the queue. */
  | 'joining'
  /** A campaign reads the queue and the last term. */
  | 'looking'
  /** A campaign waits for the candidate ahead. */
  | 'waiting'
  | 'claiming'
  /** A campaign reads whether its claim, or a handover to it, was applied. */
  | 'confirming'
  /** A campaign deletes its entry. */
  | 'withdrawing'
  | 'handingOver'
  /** A leader reads whether its handover was applied. */
  | 'checking'
  /** A former leader deletes its record and its entry. */
  | 'releasing'
  | 'requestedHandover'
  /** A leader reads or writes a key of `leadership.stored`. */
  | 'storedValue'
  /** A `StoredValueObserver` reads its value. */
  | 'observingValue'
  | 'rebalancing'
  | 'removingOrphans'
  | 'joiningGroup'
  | 'leavingGroup';

/** The fields of the event `retry`. */
export type RetryFields = TelemetryFields & { readonly doing: RetryActivity; readonly error: unknown };

/** How often an event that may happen many times a minute is logged, in ms. */
const LOG_EVERY_MS = 60_000;

/** When an event was last logged, and how often it has happened since. */
interface LogPause {
  readonly untilMs: number;
  skipped: number;
}

/** Emits the events of one member or observer. `common` are the fields that every event has. */
export class Telemetry {
  readonly #logger: Logger | undefined;
  readonly #common: TelemetryFields;
  /** By the event; for `retry`, by its `doing` as well. */
  readonly #pauses = new Map<string, LogPause>();

  constructor(logger: Logger | undefined, common: TelemetryFields) {
    this.#logger = logger;
    this.#common = common;
  }

  emit(event: 'retry', fields: RetryFields): void;
  emit(event: Exclude<TelemetryEvent, 'retry'>, fields?: TelemetryFields): void;
  emit(event: TelemetryEvent, fields: TelemetryFields = {}): void {
    this.#emit(event, fields, true);
  }

  /**
   * Emits an event that may happen many times a minute. The channel gets each one. The logger gets
   * at most one a minute, with the number of events since the one before as `skipped`. For `retry`,
   * the limit holds for each `doing`, so the first failure of each step is logged at once.
   */
  emitOften(event: 'retry', fields: RetryFields, nowMs: number): void;
  emitOften(event: Exclude<TelemetryEvent, 'retry'>, fields: TelemetryFields, nowMs: number): void;
  emitOften(event: TelemetryEvent, fields: TelemetryFields, nowMs: number): void {
    const limited = event === 'retry' ? `retry ${String(fields['doing'])}` : event;
    const pause = this.#pauses.get(limited);
    if (pause !== undefined && nowMs < pause.untilMs) {
      pause.skipped += 1;
      return this.#emit(event, fields, false);
    }
    this.#pauses.set(limited, { untilMs: nowMs + LOG_EVERY_MS, skipped: 0 });
    this.#emit(event, pause === undefined || pause.skipped === 0 ? fields : { ...fields, skipped: pause.skipped }, true);
  }

  /**
   * Whether anybody would receive the event. Lets the caller skip the work for its fields, also
   * their allocation.
   */
  wants(event: TelemetryEvent): boolean {
    return channelOf(event).hasSubscribers || (this.#logger !== undefined && events[event] !== undefined);
  }

  #emit(event: TelemetryEvent, fields: TelemetryFields, mayLog: boolean): void {
    const channel = channelOf(event);
    const line = events[event];
    const isLogged = mayLog && line !== undefined && this.#logger !== undefined;
    if (!channel.hasSubscribers && !isLogged) return;
    const message = withJson({ ...this.#common, ...fields });
    channel.publish(message);
    if (isLogged) this.#log(line, event, message);
  }

  #log([level, text]: readonly [Level, string], event: TelemetryEvent, fields: TelemetryFields): void {
    try {
      this.#logger?.[levelOf(level, event, fields)]({ event, ...loggable(fields) }, text);
    } catch {
      // A logger that throws must not end a leadership.
    }
  }
}

/** Raises the level for a lost leadership, and lowers it for a session that its member closes. */
function levelOf(level: Level, event: TelemetryEvent, { lost, reason }: TelemetryFields): Level {
  if (lost === true) return 'warn';
  return event === 'sessionEnded' && reason === 'memberClosed' ? 'debug' : level;
}

/**
 * The fields as any logger can write them as JSON: a bigint as a string, a number with at most one
 * decimal, an error under `err` (where pino and others look for it), and an error in an array as
 * `CODE: message`, or `Name: message` if it has no code. Equal neighbours in an array are written
 * once, with their number.
 */
function loggable(fields: TelemetryFields): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Error) written['err'] = value;
    else written[name] = loggableValue(value);
  }
  return written;
}

function loggableValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Error) return 'code' in value ? `${String(value.code)}: ${value.message}` : String(value);
  if (typeof value === 'number') return Math.round(value * 10) / 10;
  return Array.isArray(value) ? withoutRepeats(value.map(loggableValue)) : value;
}

function withoutRepeats(values: readonly unknown[]): readonly unknown[] {
  const starts = values.flatMap((value, i) => (i > 0 && value === values[i - 1] ? [] : [i]));
  return starts.map((start, i) => {
    const times = (starts[i + 1] ?? values.length) - start;
    return times === 1 ? values[start] : `${String(values[start])} (${times} times)`;
  });
}

/**
 * Returns the logger.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it lacks one of the four methods.
 */
export function checkLogger(logger: unknown): Logger | undefined {
  if (logger === undefined || isLogger(logger)) return logger;
  throw invalidOption('logger', logger, 'an object with the functions debug, info, warn and error');
}

function isLogger(value: unknown): value is Logger {
  return hasMethods(value, 'debug', 'info', 'warn', 'error');
}
