/** Writes a run as lines of text. */

import type { Listener, WorldEvent } from '../world/event.ts';

/** What a {@link Timeline} includes. */
export interface TimelineOptions {
  /** Whether to include requests and everything that core logs. Default false. */
  readonly all?: boolean;
}

/** Events that only the whole timeline includes. */
const SILENT: ReadonlySet<WorldEvent['type']> = new Set(['request', 'logged', 'record', 'calmState', 'groupMembers', 'published']);

/** Collects the events of a run as lines of text. */
export class Timeline implements Listener {
  readonly lines: string[] = [];
  readonly #all: boolean;

  constructor({ all = false }: TimelineOptions = {}) {
    this.#all = all;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    if (!this.#all && SILENT.has(event.type)) return;
    this.lines.push(`${String(atMs).padStart(8)} ms  ${tell(event)}`);
  }
}

function tell(event: WorldEvent): string {
  switch (event.type) {
    case 'watchesSilenced':
      return 'no watch tells of anything';
    case 'serverHung':
      return `store: the disk of server ${event.server} hangs: it serves no ${event.hung}`;
    case 'connectionsSilenced':
      return 'every connection is silent from now on';
    case 'phase':
      return `-- ${event.phase}`;
    case 'faultInjected':
      return ['!!', event.kind, event.target, event.how].filter((part) => part !== undefined && part !== '').join(' ');
    case 'started':
    case 'died':
    case 'resumed':
    case 'programEnded':
    case 'isolated':
      return `${event.process.name} ${event.type}`;
    case 'termSeen':
      return `${event.process.name} reports term ${event.term}`;
    case 'requested':
    case 'requestWritten':
      return `${event.process.name}: ${event.request} ${event.type === 'requested' ? 'is requested' : 'is written'}, term ${event.term}`;
    case 'replaced':
      return `store: ${event.by} takes the id of ${event.process}`;
    case 'issued':
      return `store: term ${event.term} to ${event.memberId}, by ${event.by}`;
    case 'recordGone':
      return `store: the record of term ${event.term} is gone, by ${event.cause.by}${'owner' in event.cause ? ` ${event.cause.owner}` : ''}`;
    case 'entryGone':
      return `store: the entry of term ${event.term} is gone, by ${event.cause.by}${'owner' in event.cause ? ` ${event.cause.owner}` : ''}`;
    case 'requeued':
      return `store: ${event.name} is there again, further back`;
    case 'elected':
    case 'aborted':
    case 'workStopped':
    case 'released':
      return `${event.handle.process.name} ${event.type}, term ${event.handle.term}`;
    case 'ended':
      return `${event.handle.process.name} ended, term ${event.handle.term}: ${event.reason}${event.lost ? ' (lost)' : ''}`;
    case 'wrote':
    case 'refused':
      return `${event.to}: ${event.type === 'wrote' ? 'accepted' : 'refused'} term ${event.term}`;
    case 'shown':
      return `${observerIn(event)} shows ${event.view.state}${event.view.term === undefined ? '' : `, term ${event.view.term}`}${event.view.reason === undefined ? '' : `: ${event.view.reason}`}`;
    case 'observerClosed':
      return `${observerIn(event)} is closed`;
    default:
      return tellRest(event);
  }
}

function observerIn({ observer, name }: Extract<WorldEvent, { type: 'shown' | 'observerClosed' }>): string {
  return name === undefined ? observer.name : `${observer.name}/${name}`;
}

type Silent = 'record' | 'calmState' | 'leftGroup' | 'stoppedCampaigning' | 'groupMembers' | 'published' | 'replacedSessionKept';
type Rest = Extract<
  WorldEvent,
  { type: Silent | 'queue' | 'request' | 'noted' | 'logged' | 'unexpectedError' | 'closed' | 'stopped' | 'final' }
>;

function tellRest(event: Rest): string {
  switch (event.type) {
    case 'queue':
      return `store: the record is of term ${event.record ?? '(none)'}, the queue ${event.names.join(', ') || 'empty'}`;
    case 'record':
    case 'calmState':
    case 'replacedSessionKept':
    case 'leftGroup':
    case 'stoppedCampaigning':
    case 'groupMembers':
    case 'published':
      return `${'process' in event ? `${event.process.name} ` : ''}${event.type}`;
    case 'request':
      return `store: ${[event.operation, event.about].filter((part) => part !== undefined).join(' ')} by ${event.by}`;
    case 'noted':
      return `${event.process.name}: ${event.text}`;
    case 'logged':
      return `${event.process.name} logs: ${event.message}`;
    case 'unexpectedError':
      return `${event.process.name} failed: ${String(event.error)}`;
    case 'closed':
      return `${event.process.name} closed, in ${Math.round(event.tookMs)} ms`;
    case 'stopped':
      return `${event.process.name} stopped, leaving ${event.left.timers} timers, ${event.left.holds} holds, ${event.left.watches} watches`;
    case 'final':
      return `store: in the end ${event.leases} leases, ${event.watches} watches, keys: ${event.keys.join(', ') || 'none'}`;
    default:
      return event satisfies never;
  }
}
