/** Adds events to the hash of a run, with everything that distinguishes one event from another. */

import type { Trace } from '../time/trace.ts';
import type { LeadershipView, WorldEvent } from './event.ts';

/** The frequent events are added field by field, because a run has thousands of them. */
export function traceEvent(trace: Trace, event: WorldEvent, atMs: number): void {
  trace.add(event.type, atMs);
  switch (event.type) {
    case 'request':
      trace.addText(event.by);
      trace.addText(event.operation);
      return trace.addText(event.about ?? '');
    case 'logged':
      trace.addText(event.process.name);
      trace.addText(event.message);
      return trace.addText(event.term ?? '');
    case 'started':
    case 'died':
    case 'resumed':
    case 'programEnded':
    case 'isolated':
      return trace.addText(event.process.name);
    case 'elected':
    case 'aborted':
    case 'workStopped':
    case 'released':
      return addHandle(trace, event.handle);
    case 'ended':
      addHandle(trace, event.handle);
      return trace.addText(`${event.reason} ${event.seenTerm}`);
    case 'shown':
      trace.addText(event.observer.name);
      trace.addText(event.name ?? '');
      trace.addText(event.view.state);
      trace.addText(`${event.view.term} ${event.view.reason}`);
      return addValue(trace, event.view.value);
    case 'groupMembers':
      trace.addText(event.process.name);
      for (const id of event.ids) trace.addText(id);
      return undefined;
    case 'record':
      trace.addText(event.election);
      trace.addText(String(event.term));
      return addValue(trace, event.value);
    case 'wrote':
    case 'refused':
      trace.addText(event.to);
      return trace.addText(String(event.term));
    default:
      return trace.addText(JSON.stringify(event, plain));
  }
}

function addValue(trace: Trace, value: unknown): void {
  if (value !== undefined) trace.addText(JSON.stringify(value));
}

function addHandle(trace: Trace, { process, election, term }: LeadershipView): void {
  trace.addText(process.name);
  trace.addText(election);
  trace.addText(String(term));
}

/** A process has fields that JSON cannot contain, and its state is no part of an event. */
function plain(name: string, value: unknown): unknown {
  if (typeof value === 'bigint' || value instanceof Error) return String(value);
  const isProcess = (name === 'process' || name === 'observer') && typeof value === 'object' && value !== null && 'name' in value;
  return isProcess ? value.name : value;
}
