/** The options of a memory server and of a client's link to it, with their defaults and ranges. */

import { type Clock, type StoreCapabilities, systemClock } from '@incumbent/core';
import { checkFunction, checkKnown, checkNumber, checkOneOf, checkPath, invalidOption } from '@incumbent/core/adapter';

/** A message between a client and the server. */
export interface Message {
  readonly kind: 'request' | 'reply' | 'watch' | 'event';
  /** The call that it belongs to; undefined for a watch and its events. */
  readonly verb?: Verb;
}

/** The calls of the contract that ask once and are answered once. */
export type Verb = 'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list';

/** How long a message travels, in ms. Infinity: it is lost. */
export type Latency = number | ((message: Message) => number);

type Declared = Omit<StoreCapabilities, 'expiresWithinMs'>;

/**
 * What the server does and declares. `assignableLease` false refuses to bind a key to another client's lease; `revisionsSurviveDeletion`
 * false starts a key's revisions again when it is made again; the limits are kept, except `maxKeysPerLease`, which is only declared, as are
 * `linearizable`, `termSource` and `endsEarly`: whatever they say, the server is linearizable, counts, and ends no lease early.
 */
export interface MemoryServerOptions extends Partial<Declared> {
  /** By which leases expire. Default the system's. */
  readonly clock?: Clock;
}

export interface ConnectOptions {
  /** By which this client's calls time out, and messages travel. Default the server's. */
  readonly clock?: Clock;
  /** Put before every key: names separated by `/`. Default none. */
  readonly namespace?: string;
  /** Each way. Default 0. */
  readonly latencyMs?: Latency;
}

export interface ServerSettings {
  readonly clock: Clock;
  readonly capabilities: StoreCapabilities;
}

export interface LinkSettings {
  readonly clock: Clock;
  /** Ends with `/` unless it is empty. */
  readonly keyPrefix: string;
  readonly latencyOf: (message: Message) => number;
}

/** How late the timer that ends a lease may be on a busy machine. */
const TIMER_SLACK_MS = 100;
const DAY_MS = 86_400_000;

const serverOptions = [
  'clock',
  'linearizable',
  'termSource',
  'minTtlMs',
  'maxTtlMs',
  'assignableLease',
  'revisionsSurviveDeletion',
  'endsEarly',
  'maxChanges',
  'maxValueBytes',
  'maxKeysPerLease',
] as const;

export const connectOptions = ['clock', 'namespace', 'latencyMs'] as const;

/** Defaults filled in, ranges checked. */
export function serverSettings(options: MemoryServerOptions): ServerSettings {
  checkKnown('memory', options, serverOptions);
  const minTtlMs = checkNumber('minTtlMs', options.minTtlMs, 1, { min: 1, max: DAY_MS });
  const capabilities = {
    linearizable: checkBoolean('linearizable', options.linearizable),
    termSource: checkOneOf('termSource', options.termSource, 'counter', ['counter', 'clock']),
    minTtlMs,
    maxTtlMs: checkNumber('maxTtlMs', options.maxTtlMs, DAY_MS, { min: minTtlMs, max: DAY_MS }),
    expiresWithinMs: (ttlMs: number) => ttlMs + TIMER_SLACK_MS,
    assignableLease: checkBoolean('assignableLease', options.assignableLease),
    watchTellsValues: true,
    revisionsSurviveDeletion: checkBoolean('revisionsSurviveDeletion', options.revisionsSurviveDeletion),
    maxChanges: checkNumber('maxChanges', options.maxChanges, 128, { min: 1, max: 10_000 }),
    maxValueBytes: checkNumber('maxValueBytes', options.maxValueBytes, 2 ** 20, { min: 1, max: 2 ** 30 }),
    maxKeysPerLease: checkNumber('maxKeysPerLease', options.maxKeysPerLease, 100_000, { min: 1, max: 1_000_000 }),
  };
  const { clock = systemClock, endsEarly } = options;
  checkFunction('clock.monotonic', clock.monotonic);
  return { clock, capabilities: endsEarly === undefined ? capabilities : { ...capabilities, endsEarly } };
}

/** Defaults filled in, ranges checked. */
export function linkSettings(options: ConnectOptions, serverClock: Clock): LinkSettings {
  checkKnown('memory', options, connectOptions);
  const { clock = serverClock, namespace, latencyMs = 0 } = options;
  checkFunction('clock.monotonic', clock.monotonic);
  if (typeof latencyMs === 'number') checkNumber('latencyMs', latencyMs, 0, { min: 0, max: Infinity });
  else checkFunction('latencyMs', latencyMs);
  return {
    clock,
    keyPrefix: namespace === undefined ? '' : `${checkPath('namespace', namespace)}/`,
    latencyOf: typeof latencyMs === 'number' ? () => latencyMs : latencyMs,
  };
}

function checkBoolean(option: string, value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value === 'boolean') return value;
  throw invalidOption(option, value, 'true or false');
}
