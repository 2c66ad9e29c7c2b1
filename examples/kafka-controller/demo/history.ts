/**
 * The history of a run: events of the brokers, answers to the producers, and actions of the demo.
 * Times are those of `events.ts`.
 */

import type { RefusalCounts } from '../commands.ts';
import type { BrokerEvent } from '../events.ts';

export interface Heard<T extends BrokerEvent['type'] = BrokerEvent['type']> {
  readonly broker: string;
  readonly event: Extract<BrokerEvent, { type: T }>;
}

/** The refusals of old terms and epochs, by what refused them. */
export function refusalCounts(heard: readonly Heard[]): RefusalCounts {
  const counts = { store: 0, broker: 0, replica: 0 };
  for (const { event } of heard) if (event.type === 'refused') counts[event.by] += 1;
  return counts;
}

/** A time in which a broker certainly was a valid controller. */
export interface ValidSpan {
  readonly broker: string;
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
  readonly asked: number;
}

export type ActName = 'start' | 'SIGKILL' | 'paused, before a write' | 'paused, before a request' | 'handover by name' | 'rolling restart';

/** A scene of the story, and how one controller followed another in it. */
export interface Act {
  readonly name: ActName;
  /** The former controller. Undefined at the start. */
  readonly from: string | undefined;
  /** The named successor of a handover. */
  readonly named: string | undefined;
  /** The next controller. Undefined if none was elected in time. */
  readonly next: { readonly broker: string; readonly term: bigint } | undefined;
  /** The longest time without a controller. */
  readonly vacancyMs: number;
  /** The limit of `vacancyMs`. */
  readonly limitMs: number;
  /** When the act began and ended. From that follows which partitions had no leader in it. */
  readonly begun: number;
  readonly ended: number;
}

/** One process of a broker. */
export interface BrokerRun {
  readonly broker: string;
  readonly from: number;
  /**
   * How the demo ended the process: `SIGKILL`, or `exit code 0` after SIGTERM. Undefined while it
   * should run.
   */
  readonly due: string | undefined;
  /** When and how it ended. */
  readonly end: { readonly at: number; readonly how: string } | undefined;
}

/** A time in which a process was stopped. */
export interface Pause {
  readonly broker: string;
  readonly from: number;
  readonly to: number;
}

/** A time in which a partition had no leader. */
export interface Gap {
  readonly partition: string;
  readonly from: number;
  readonly to: number;
}

/** What producers had acknowledged, and what could be read at the end. */
interface Messages {
  /** Each message is unique. */
  readonly acknowledged: readonly string[];
  readonly read: readonly string[];
}

export interface History {
  readonly heard: readonly Heard[];
  readonly validSpans: readonly ValidSpan[];
  readonly acts: readonly Act[];
  readonly lives: readonly BrokerRun[];
  readonly pauses: readonly Pause[];
  readonly messages: Messages;
  /** The changes of rejected writes that were found in the store. There should be none. */
  readonly effects: readonly string[];
  /**
   * Keys left in the store after all brokers had ended, except the election's term. Undefined
   * before.
   */
  readonly leftovers: readonly string[] | undefined;
}
