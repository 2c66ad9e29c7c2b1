/**
 * The history of a run: events of the brokers, answers to the producers, and actions of the demo.
 * Times are those of `events.ts`.
 */

import type { BrokerEvent } from '../events.ts';

export interface Heard<T extends BrokerEvent['type'] = BrokerEvent['type']> {
  readonly broker: string;
  readonly event: Extract<BrokerEvent, { type: T }>;
}

/** A time in which a broker certainly believed that it is the controller. */
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
  /** Who was the controller before; undefined at the start. */
  readonly from: string | undefined;
  /** To whom the office was handed over by name. */
  readonly named: string | undefined;
  /** Who was it then; undefined when nobody was while the director waited. */
  readonly next: { readonly broker: string; readonly term: bigint } | undefined;
  /** The longest time without a controller. */
  readonly vacancyMs: number;
  /** What that must stay below. */
  readonly limitMs: number;
  /** When it began and ended: which partitions had no leader in it can be told from that. */
  readonly begun: number;
  readonly ended: number;
}

/** One process of a broker. */
export interface Life {
  readonly broker: string;
  readonly from: number;
  /**
   * How the demo ended it: `SIGKILL`, or `exit code 0` after SIGTERM; undefined while it should
   * run.
   */
  readonly due: string | undefined;
  /** When and how it ended. */
  readonly end: { readonly at: number; readonly how: string } | undefined;
}

/** A time in which a process stood still. */
export interface Pause {
  readonly broker: string;
  readonly from: number;
  readonly to: number;
}

/** A time in which a partition had nobody to lead it. */
export interface Gap {
  readonly partition: string;
  readonly from: number;
  readonly to: number;
}

/** What producers were told, and what could be read in the end. */
interface Messages {
  /** Each message is unique. */
  readonly acknowledged: readonly string[];
  readonly read: readonly string[];
}

export interface History {
  readonly heard: readonly Heard[];
  readonly validSpans: readonly ValidSpan[];
  readonly acts: readonly Act[];
  readonly lives: readonly Life[];
  readonly pauses: readonly Pause[];
  readonly messages: Messages;
  /** What a refused write would have put into the store: found there. */
  readonly effects: readonly string[];
  /**
   * Keys left in the store after all brokers had ended, except the election's term; undefined
   * before.
   */
  readonly leftovers: readonly string[] | undefined;
}
