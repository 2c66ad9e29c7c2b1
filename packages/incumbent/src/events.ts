/**
 * The events of this process, from the channels `incumbent:<event>` of `node:diagnostics_channel`,
 * for the monitor and the traces. A process that calls no `onEvents` has no cost for them.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import type { TelemetryEvent } from '@incumbent/core';

/** The fields of one event, whose types are checked when they are read. */
export type Fields = Readonly<Record<string, unknown>>;

/** Calls the listener with each of these events, until the returned function is called. */
export function onEvents<E extends TelemetryEvent>(events: readonly E[], listener: (event: E, fields: Fields) => void): () => void {
  const subscriptions = events.map((event) => {
    const subscriber = (message: unknown): void => listener(event, fieldsOf(message));
    diagnosticsChannel.subscribe(`incumbent:${event}`, subscriber);
    return () => diagnosticsChannel.unsubscribe(`incumbent:${event}`, subscriber);
  });
  return () => {
    for (const unsubscribe of subscriptions.splice(0)) unsubscribe();
  };
}

/** The fields of a message, which are none if it is not an object. */
export function fieldsOf(message: unknown): Fields {
  return typeof message === 'object' && message !== null ? { ...message } : {};
}

/** Empty if the field is not a text. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

/** 0 if the field is not a number. */
export function numberOf(fields: Fields, name: string): number {
  const value = fields[name];
  return typeof value === 'number' ? value : 0;
}

/** Undefined if the field is not a term. */
export function termOf(fields: Fields, name = 'term'): bigint | undefined {
  const value = fields[name];
  return typeof value === 'bigint' ? value : undefined;
}

/**
 * The newest term of a leader before this event `observed`, which was `ledTerm` after the last one.
 * Lower if the store has lost terms, because it issues these terms again.
 */
export function newestTermBefore(fields: Fields, ledTerm: bigint): bigint {
  const term = termOf(fields);
  if (textOf(fields, 'reason') !== 'termReset' || term === undefined || term >= ledTerm) return ledTerm;
  return textOf(fields, 'state') === 'leader' ? term - 1n : term;
}

/** A key for the lease of an event. Its id is not enough: two stores may use the same id. */
export function leaseKey(fields: Fields): string {
  return `${textOf(fields, 'incarnation')} ${textOf(fields, 'lease')}`;
}

/** The code of an error, or else its name. Its message may contain an address. */
export function errorOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
