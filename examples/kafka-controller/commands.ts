/** The messages between a broker's process and its parent, over Node's IPC channel. */

import type { BrokerEvent, Refuser } from './events.ts';
import type { Moment } from './faults.ts';
import { oneOf, recordOf, type Shape, text } from './shapes.ts';

export type Command =
  | { readonly type: 'cutOff' }
  | { readonly type: 'heal' }
  /** Stops the process at the next such moment. */
  | { readonly type: 'stopBefore'; readonly moment: Moment }
  /** Withdraws that command. */
  | { readonly type: 'goOn' }
  /** The present state, for the page. */
  | { readonly type: 'cluster'; readonly cluster: ClusterView };

/** A time in which every call of `isValid()` was true, and how many calls there were. */
export interface ValidSpan {
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
  readonly asked: number;
}

export type Report =
  | { readonly type: 'ready'; readonly url: string }
  /** The next command is done; commands are answered in order. */
  | { readonly type: 'obeyed' }
  | { readonly type: 'event'; readonly event: BrokerEvent }
  /** The samples of `isValid()`: see `valid-spans.ts`. */
  | ({ readonly type: 'valid' } & ValidSpan)
  /** A button of the page was pressed. */
  | { readonly type: 'asked'; readonly request: PageRequest };

/** State that only the parent process knows. */
export interface ClusterView {
  readonly processes: readonly { readonly broker: string; readonly url: string; readonly state: 'running' | 'paused' | 'ended' }[];
  /** The messages of producers. */
  readonly load: { readonly on: boolean; readonly acknowledged: number; readonly slowestMs: number };
  /** Terms and vacancies, in the order in which they began: the latest of them. */
  readonly reigns: readonly ReignView[];
  /** How much of an old term or epoch was refused, since the start. */
  readonly refused: RefusalCounts;
}

/** The begin of a term, or of a time without a controller. */
export interface ReignView {
  /** In ms since the Unix epoch. */
  readonly at: number;
  readonly term: bigint | undefined;
  /** Null while nobody is the controller. */
  readonly broker: string | null;
  /** Why nobody is. */
  readonly reason: string | undefined;
}

export type RefusalCounts = Readonly<Record<Refuser, number>>;

export const actions = ['kill', 'start', 'pause', 'stopBeforeWrite', 'resume', 'cutOff', 'heal', 'handOver', 'add', 'load'] as const;

export interface PageRequest {
  readonly action: (typeof actions)[number];
  /** The broker's id; empty for events without a broker. */
  readonly broker: string;
}

export const pageRequestShape: Shape<PageRequest> = recordOf<PageRequest>({ action: oneOf(actions), broker: text });

const commands: readonly unknown[] = ['cutOff', 'heal', 'stopBefore', 'goOn', 'cluster'] satisfies readonly Command['type'][];
const reports: readonly unknown[] = ['ready', 'obeyed', 'event', 'valid', 'asked'] satisfies readonly Report['type'][];

export function isCommand(message: unknown): message is Command {
  return commands.includes(typeOf(message));
}

export function isReport(message: unknown): message is Report {
  return reports.includes(typeOf(message));
}

/** Checks the type only, because both ends are this program. */
function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}

/**
 * Sends to the parent process, if there is one. The kernel has the message when this returns, so a
 * SIGKILL right after does not lose it.
 */
export function report(told: Report): void {
  process.send?.(told);
}
