/**
 * What a process says about its elections when it has no logger: warnings of Node for what needs
 * somebody's attention, and every event if the environment asks for it.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { debuglog, inspect } from 'node:util';
import { isIncumbentError, type Logger, type TelemetryEvent } from '@incumbent/core';
import { telemetryEvents, textOfError } from '@incumbent/core/adapter';
import type { Fields } from './events.ts';

/** The warning of each event that has one: its code, and its text. */
const WARNINGS: Partial<Record<TelemetryEvent, readonly [code: string, text: (fields: Fields) => string]>> = {
  stuck: [
    'INCUMBENT_STUCK',
    ({ election, term }) =>
      `the work of "${String(election)}" in term ${String(term)} did not stop within drainMs: it may still run while another member leads`,
  ],
  duplicateMember: [
    'INCUMBENT_DUPLICATE_MEMBER',
    ({ memberId, onDuplicate }) => `another process holds the member id "${String(memberId)}" (onDuplicate: '${String(onDuplicate)}')`,
  ],
  ended: [
    'INCUMBENT_LEADERSHIP_LOST',
    ({ election, term, why }) => `leadership of "${String(election)}" in term ${String(term)} was lost: it ended ${String(why)}`,
  ],
  workFailed: [
    'INCUMBENT_WORK_FAILED',
    (fields) =>
      `the work of "${String(fields['election'])}" in term ${String(fields['term'])} failed${fields['campaignsAgain'] === true ? ', and the member campaigns again' : ''}: ${reasonOf(fields)}`,
  ],
  subscriberFailed: ['INCUMBENT_CALLBACK_FAILED', (fields) => `a callback of "${subjectOf(fields)}" threw: ${reasonOf(fields)}`],
  groupLeft: [
    'INCUMBENT_GROUP_LEFT',
    (fields) => `this member is not in the group "${String(fields['group'])}" any more, and fails to join it again: ${reasonOf(fields)}`,
  ],
  foreignData: [
    'INCUMBENT_FOREIGN_DATA',
    (fields) => `a record of the group "${String(fields['group'])}" is left out: ${reasonOf(fields)}`,
  ],
  reaperLost: [
    'INCUMBENT_REAPER_LOST',
    (fields) => `there is no reaper: if this process dies, its leases end only after their ttl (${lossOf(fields)})`,
  ],
  renewerLost: [
    'INCUMBENT_RENEWER_LOST',
    (fields) => `there is no worker of renewIn: 'worker': a blocked event loop ends leaderships (${lossOf(fields)})`,
  ],
  storeEndsEarly: [
    'INCUMBENT_STORE_ENDS_EARLY',
    ({ store, why }) =>
      `the store "${String(store)}" may end a lease that is being renewed: ${String(why)}. Two members may then lead at the same ` +
      'time for a moment: make every write conditional on the term, by leadership.swap or a fence. ' +
      'Once the writes are safe, --disable-warning=INCUMBENT_STORE_ENDS_EARLY hides this warning',
  ],
};

/** What an event is about: its election, group or key. */
function subjectOf({ election, group, key, store }: Fields): string {
  return String(election ?? group ?? key ?? store);
}

function reasonOf({ err, error = err }: Fields): string {
  return error instanceof Error ? error.message : textOfError(error);
}

/** Why a helper of the member has gone. */
function lossOf(fields: Fields): string {
  const { err, why, code, signal } = fields;
  if (err !== undefined) return reasonOf(fields);
  if (typeof why === 'string') return why;
  return `it ended with ${typeof signal === 'string' ? signal : `code ${String(code)}`}`;
}

/** The warnings that this process has had: one per code and subject. */
const warned = new Set<string>();

/**
 * The logger of a member or observer without one. It calls `process.emitWarning` once per process,
 * code, and election, group or key. Node's option `--disable-warning=INCUMBENT_…` hides a code.
 */
export const warningLogger: Logger = { debug: warn, info: warn, warn, error: warn };

function warn(logged: object): void {
  const fields: Fields = { ...logged };
  const warning = isWarned(fields['event']) ? WARNINGS[fields['event']] : undefined;
  if (warning === undefined || (fields['event'] === 'ended' && fields['lost'] !== true)) return;
  const [code, text] = warning;
  const key = `${code} ${subjectOf(fields)}`;
  if (warned.has(key)) return;
  warned.add(key);
  const { err } = fields;
  const detail = err instanceof Error && err.stack !== undefined ? { detail: err.stack } : {};
  process.emitWarning(text(fields), { type: 'IncumbentWarning', code, ...detail });
}

function isWarned(event: unknown): event is TelemetryEvent {
  return typeof event === 'string' && event in WARNINGS;
}

/**
 * Prints every event of this process with its time on standard error if the environment has
 * `INCUMBENT_DEBUG=1` or `NODE_DEBUG=incumbent`. Called once, by the module that exports `Member`.
 */
export function printEventsIfAsked(): void {
  if (!isAsked()) return;
  for (const event of telemetryEvents) diagnosticsChannel.subscribe(`incumbent:${event}`, (fields) => print(event, fields));
}

/** How often a program says that it waits for its store, in ms. */
const WAIT_EVERY_MS = 5_000;

/**
 * Returns a function to call after each failed attempt to open a store. If the environment asks for
 * events, it prints the wait on standard error, at most once in 5 s. `url` is without secrets, and
 * undefined for a store that a function opens.
 */
export function waitPrinter(url: string | undefined): (error: unknown, waitedMs: number) => void {
  if (!isAsked()) return () => {};
  let nextMs = 0;
  return (error, waitedMs) => {
    if (waitedMs < nextMs) return;
    nextMs = waitedMs + WAIT_EVERY_MS;
    print('waitingForStore', {
      ...(url === undefined ? {} : { url }),
      waitedMs: Math.round(waitedMs),
      error: isIncumbentError(error) ? `${error.code}: ${error.message}` : textOfError(error),
    });
  };
}

function isAsked(): boolean {
  return process.env['INCUMBENT_DEBUG'] === '1' || debuglog('incumbent').enabled;
}

function print(event: string, fields: unknown): void {
  process.stderr.write(`${new Date().toISOString()} incumbent ${event} ${inspect(fields, { breakLength: Infinity, depth: 4 })}\n`);
}
