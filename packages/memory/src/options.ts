/** The options of a memory server and of a client, with their defaults and ranges. */

import type { Clock, StoreCapabilities } from '@incumbent/core';
import { checkClock, checkFunction, checkKnown, checkNumber, checkPath } from '@incumbent/core/adapter';
import { capabilitiesOf, type CapabilityOptions } from './capabilities.ts';

/** A message between a client and the server. */
export interface Message {
  /** A call's `request` or `reply`; a `watch`, or an `event` that answers it. */
  readonly kind: 'request' | 'reply' | 'watch' | 'event';
  /** The call that the message belongs to. Undefined for a watch and its events. */
  readonly operation?: Operation;
}

/** The calls of the store contract that have one request and one reply. */
export type Operation = 'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list';

/** How long a message travels, in ms. `Infinity` loses the message. */
export type Latency = number | ((message: Message) => number);

/**
 * The clock of a server, and its capabilities.
 *
 * - `assignableLease: false` makes the server refuse to bind a key to another client's lease.
 * - `revisionsSurviveDeletion: false` makes revisions start again when a key is created again.
 * - `swapSharesRevision: false` gives every key of a swap a revision of its own, as does
 *   `revisionsSurviveDeletion: false`.
 * - The server enforces `minTtlMs`, `maxTtlMs`, `maxChanges` and `maxValueBytes`.
 * - The server only declares `linearizable`, `termSource`, `endsEarly` and `maxKeysPerLease`.
 *   Whatever they say, it is linearizable, counts revisions, and ends no lease early.
 */
export interface MemoryServerOptions extends CapabilityOptions {
  /** The clock by which leases expire. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** The options of one client of a memory server. */
export interface ConnectOptions {
  /** The clock of this client's timeouts and messages. Default: the server's. */
  readonly clock?: Clock | undefined;
  /** The prefix of all keys of this client: names separated by `/`. Default: none. */
  readonly namespace?: string | undefined;
  /** The latency of every message, in each direction. Default 0. */
  readonly latencyMs?: Latency | undefined;
}

export interface ServerSettings {
  readonly clock: Clock;
  readonly capabilities: StoreCapabilities;
}

export interface LinkSettings {
  readonly clock: Clock;
  /** Empty, or ends with `/`. */
  readonly keyPrefix: string;
  readonly latencyOf: (message: Message) => number;
}

const serverOptions = [
  'clock',
  'linearizable',
  'termSource',
  'minTtlMs',
  'maxTtlMs',
  'assignableLease',
  'revisionsSurviveDeletion',
  'swapSharesRevision',
  'endsEarly',
  'maxChanges',
  'maxValueBytes',
  'maxKeysPerLease',
] as const;

export const connectOptions = ['clock', 'namespace', 'latencyMs'] as const;

/** Checks the options and adds defaults. Throws `INVALID_OPTION`. */
export function serverSettings(options: MemoryServerOptions): ServerSettings {
  checkKnown('memory', options, serverOptions);
  return { clock: checkClock(options.clock), capabilities: capabilitiesOf(options) };
}

/** Checks the options and adds defaults. Throws `INVALID_OPTION`. */
export function linkSettings(options: ConnectOptions, serverClock: Clock): LinkSettings {
  checkKnown('memory', options, connectOptions);
  const { namespace, latencyMs = 0 } = options;
  const clock = checkClock(options.clock, serverClock);
  if (typeof latencyMs === 'number') checkNumber('latencyMs', latencyMs, 0, { min: 0, max: Infinity });
  else checkFunction('latencyMs', latencyMs);
  return {
    clock,
    keyPrefix: namespace === undefined ? '' : `${checkPath('namespace', namespace)}/`,
    latencyOf: typeof latencyMs === 'number' ? () => latencyMs : latencyMs,
  };
}
