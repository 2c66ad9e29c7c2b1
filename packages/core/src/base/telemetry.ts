/**
 * What happens, for people and for metrics: each event goes to a channel of
 * `node:diagnostics_channel` named `incumbent:<event>`, and to the logger, if one was given. A
 * channel costs nothing while nobody subscribes. A logger that throws harms nobody; a channel's
 * subscriber that throws is, as Node has it, an uncaught exception of the process, raised later.
 */

import diagnosticsChannel, { type Channel } from 'node:diagnostics_channel';
import { invalidOption } from './validate.ts';

/** What pino, console and most loggers have in common. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Level = keyof Logger;

/** Every event. */
export type TelemetryEvent =
  | 'sessionOpened'
  | 'sessionRenewed'
  | 'sessionSuspect'
  | 'sessionRecovered'
  | 'sessionEnded'
  | 'loopLag'
  | 'duplicateMember'
  | 'joined'
  | 'waiting'
  | 'elected'
  | 'ended'
  | 'released'
  | 'stuck'
  | 'unstuck'
  | 'workFailed'
  | 'evicted'
  | 'retry'
  | 'watchStale'
  | 'foreignData'
  | 'groupLeft'
  | 'rebalanced'
  | 'handoverRequested'
  | 'subscriberFailed'
  | 'storeEndsEarly'
  | 'reaperReady'
  | 'reaperLost'
  | 'observed'
  | 'messageRefused'
  | 'connectionRefused'
  | 'peerConnected'
  | 'peerDisconnected'
  | 'peerFailed'
  | 'peerConflict'
  | 'membersChanged'
  | 'seedsFailed';

/**
 * The level at which each is logged, and what it says; none for what is for metrics alone, and
 * would fill a log.
 */
const events: Readonly<Record<TelemetryEvent, readonly [Level, string] | undefined>> = {
  sessionOpened: ['debug', 'session opened'],
  sessionRenewed: undefined,
  sessionSuspect: ['warn', 'a renewal is overdue'],
  sessionRecovered: ['info', 'renewals are acknowledged again'],
  sessionEnded: ['warn', 'session ended'],
  loopLag: ['warn', 'the event loop was blocked: the commonest cause of a lost leadership'],
  duplicateMember: ['warn', 'another process holds this member id'],
  joined: ['debug', 'joined the queue of an election'],
  waiting: ['debug', 'waiting behind another candidate'],
  elected: ['info', 'elected'],
  ended: ['info', 'leadership ended'],
  released: ['debug', 'leadership released'],
  stuck: ['error', 'the work did not stop within the drain'],
  unstuck: ['info', 'the work that was stuck has stopped'],
  workFailed: ['warn', 'the work failed after its leadership had ended'],
  evicted: ['warn', 'passed over candidates that did not claim'],
  retry: ['warn', 'a call to the store failed; it is tried again'],
  watchStale: ['debug', 'a watch cannot vouch for its last state'],
  foreignData: ['error', 'a key of ours holds data that is not ours'],
  groupLeft: ['error', 'this member is in its group no longer: another try would fail alike'],
  rebalanced: ['info', 'handed over to a candidate that is preferred'],
  handoverRequested: ['info', 'an operator requests a handover'],
  subscriberFailed: ['error', 'a subscriber threw'],
  storeEndsEarly: ['warn', 'this store may end a lease that is being renewed'],
  observed: undefined,
  reaperReady: ['debug', 'the reaper is there: should this process die, its leases end at once'],
  reaperLost: ['warn', 'there is no reaper: a crash of this process would cost the whole ttl'],
  messageRefused: ['warn', 'refused a message of another member'],
  connectionRefused: ['warn', 'refused a connection, or what came on it'],
  peerConnected: ['info', 'connected with another member'],
  peerDisconnected: ['warn', 'no longer connected with another member'],
  peerFailed: [
    'error',
    'this member has ended: its vote could not be written down, it was not told how far its data reach, or it found no members to join',
  ],
  peerConflict: ['error', 'members contradict each other: is one of them cloned, or its vote restored, or two set up with one id?'],
  membersChanged: ['warn', 'the members are others than when this member voted last: all of them must have the same list'],
  seedsFailed: ['warn', 'could not find out who the seeds are; asked again'],
};

/** Node would look each up by its name. */
const channels = new Map<TelemetryEvent, Channel>();

function channelOf(event: TelemetryEvent): Channel {
  const known = channels.get(event);
  if (known !== undefined) return known;
  const channel = diagnosticsChannel.channel(`incumbent:${event}`);
  channels.set(event, channel);
  return channel;
}

/**
 * The fields of an event: always the member or observer that it is about. The rest depends on the
 * event.
 */
export type TelemetryFields = Readonly<Record<string, unknown>>;

/** What a member was doing when a call to the store failed: the `doing` of the event `retry`. */
export type RetryActivity =
  | 'openingSession'
  | 'revokingLease'
  | 'restoringMemberKey'
  /**
   * A campaign: it enqueues, reads the queue, waits, claims, reads whether its claim was applied,
   * deletes its entry.
   */
  | 'joining'
  | 'looking'
  | 'waiting'
  | 'claiming'
  | 'confirming'
  | 'withdrawing'
  /**
   * The end of a leadership: it hands over, reads whether the handover was applied, deletes its
   * record and entry.
   */
  | 'handingOver'
  | 'checking'
  | 'releasing'
  | 'requestedHandover'
  | 'rebalancing'
  | 'removingOrphans'
  | 'joiningGroup'
  | 'leavingGroup';

/** The fields of the event `retry`. */
export type RetryFields = TelemetryFields & { readonly doing: RetryActivity; readonly error: unknown };

export class Telemetry {
  readonly #logger: Logger | undefined;
  readonly #common: TelemetryFields;

  constructor(logger: Logger | undefined, common: TelemetryFields) {
    this.#logger = logger;
    this.#common = common;
  }

  emit(event: 'retry', fields: RetryFields): void;
  emit(event: Exclude<TelemetryEvent, 'retry'>, fields?: TelemetryFields): void;
  emit(event: TelemetryEvent, fields: TelemetryFields = {}): void {
    const channel = channelOf(event);
    const line = events[event];
    const isLogged = line !== undefined && this.#logger !== undefined;
    if (!channel.hasSubscribers && !isLogged) return;
    const message = { ...this.#common, ...fields };
    channel.publish(message);
    if (isLogged) this.#log(line, event, message);
  }

  #log([level, text]: readonly [Level, string], event: TelemetryEvent, fields: TelemetryFields): void {
    try {
      this.#logger?.[levelOf(level, event, fields)](loggable(fields), text);
    } catch {
      // A logger that throws must not end a leadership.
    }
  }
}

/** A loss is more than news, and a session that ends because its member closes is less. */
function levelOf(level: Level, event: TelemetryEvent, { lost, reason }: TelemetryFields): Level {
  if (lost === true) return 'warn';
  return event === 'sessionEnded' && reason === 'memberClosed' ? 'debug' : level;
}

/**
 * What any logger can write as JSON: no bigint; the one error under `err`, where pino and others
 * look for it; several as their messages.
 */
function loggable(fields: TelemetryFields): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Error) written['err'] = value;
    else written[name] = simple(value);
  }
  return written;
}

function simple(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Error) return 'code' in value ? `${String(value.code)}: ${value.message}` : String(value);
  return Array.isArray(value) ? value.map(simple) : value;
}

export function checkLogger(logger: unknown): Logger | undefined {
  if (logger === undefined || isLogger(logger)) return logger;
  throw invalidOption('logger', logger, 'an object with the functions debug, info, warn and error');
}

function isLogger(value: unknown): value is Logger {
  return typeof value === 'object' && value !== null && ['debug', 'info', 'warn', 'error'].every((level) => level in value);
}
