/** What a broker's process and whoever has started it say to each other, over Node's channel between a parent and a child. */

import type { BrokerEvent } from './events.ts';
import type { Moment } from './faults.ts';
import { oneOf, recordOf, type Shape, text } from './shapes.ts';

export type Command =
  | { readonly type: 'cutOff' }
  | { readonly type: 'heal' }
  /** Stop the process at the next such moment. */
  | { readonly type: 'stopBefore'; readonly moment: Moment }
  /** Do not, after all. */
  | { readonly type: 'goOn' }
  /** How things are, for the page. */
  | { readonly type: 'cluster'; readonly cluster: ClusterView };

export type Report =
  | { readonly type: 'ready'; readonly url: string }
  /** The next command has been done, in the order in which they came. */
  | { readonly type: 'obeyed' }
  | { readonly type: 'event'; readonly event: BrokerEvent }
  /** What isValid() has said: see `beliefs.ts`. */
  | { readonly type: 'believed'; readonly term: bigint; readonly from: number; readonly to: number; readonly asked: number }
  /** Somebody has pressed a button of the page. */
  | { readonly type: 'asked'; readonly request: PageRequest };

/** What only whoever has started the processes knows. */
export interface ClusterView {
  readonly processes: readonly { readonly broker: string; readonly url: string; readonly state: 'running' | 'paused' | 'ended' }[];
  /** What producers have sent. */
  readonly load: { readonly on: boolean; readonly acknowledged: number; readonly slowestMs: number };
}

export const actions = ['kill', 'start', 'pause', 'stopBeforeWrite', 'resume', 'cutOff', 'heal', 'handOver', 'add', 'load'] as const;

export interface PageRequest {
  readonly action: (typeof actions)[number];
  /** Which broker it is about; empty for those that are about none. */
  readonly broker: string;
}

export const pageRequestShape: Shape<PageRequest> = recordOf<PageRequest>({ action: oneOf(actions), broker: text });

const commands: readonly unknown[] = ['cutOff', 'heal', 'stopBefore', 'goOn', 'cluster'] satisfies readonly Command['type'][];
const reports: readonly unknown[] = ['ready', 'obeyed', 'event', 'believed', 'asked'] satisfies readonly Report['type'][];

export function isCommand(message: unknown): message is Command {
  return commands.includes(typeOf(message));
}

export function isReport(message: unknown): message is Report {
  return reports.includes(typeOf(message));
}

/** Both ends are ours, so that the type says the rest. */
function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}

/** To whoever has started this process, if anybody has. On its way when this returns: the next moment may bring a SIGKILL. */
export function report(told: Report): void {
  process.send?.(told);
}
