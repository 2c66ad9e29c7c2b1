/** The events of one member on Node's diagnostics channels. */

import diagnosticsChannel from 'node:diagnostics_channel';

import type { Cancel, Member, TelemetryEvent } from '@incumbent/core';

export type EventFields = Readonly<Record<string, unknown>>;

/** Calls `seen` with the fields of each such event of this member, and of no other one. */
export function onOwnEvent(member: Member, event: TelemetryEvent, seen: (fields: EventFields) => void): Cancel {
  const listener = (message: unknown): void => {
    const fields: EventFields = typeof message === 'object' && message !== null ? { ...message } : {};
    if (fields['incarnation'] === member.incarnation) seen(fields);
  };
  diagnosticsChannel.subscribe(`incumbent:${event}`, listener);
  return () => diagnosticsChannel.unsubscribe(`incumbent:${event}`, listener);
}
