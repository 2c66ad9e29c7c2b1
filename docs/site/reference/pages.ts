/** The generated pages of docs/reference: every error code, every event and every option. */

import { isRetryable, StoreError, type Logger } from '@incumbent/core';
import { Telemetry, telemetryEvents } from '@incumbent/core/adapter';
import { type ErrorHelp, otherErrors, storeErrors } from './error-help.ts';
import { endReasons } from './end-reason-help.ts';
import { events } from './event-help.ts';
import { warnings } from './warning-help.ts';
import { optionsPage } from './options-page.ts';
import { QUOTING_PAGES, quotingPage } from './quotes.ts';

/** A generated page: its path below docs/, and its text. */
export interface GeneratedPage {
  readonly path: string;
  readonly text: string;
}

/** All generated pages of the reference, and the pages that quote examples. */
export function referencePages(): readonly GeneratedPage[] {
  return [
    { path: 'reference/errors.md', text: errorsPage() },
    { path: 'reference/events.md', text: eventsPage() },
    { path: 'reference/options.md', text: optionsPage(NOTICE('option-help.ts')) },
    ...QUOTING_PAGES.map((path) => ({ path, text: quotingPage(path) })),
  ];
}

const MAX_COLUMNS = 100;

const NOTICE = (data: string): string =>
  `<!-- Written by \`pnpm reference\` from docs/site/reference/${data}. Edit that file instead. -->`;

function errorsPage(): string {
  return `${NOTICE('error-help.ts')}

# Error codes

Every error that the SDK raises on purpose has a stable \`code\`. Compare codes, not messages: a code
keeps its meaning between minor versions, a message may change.

\`\`\`ts
import { isIncumbentError, isRetryable, outcomeOf } from 'incumbent';

export function explain(error: unknown): string {
  if (isIncumbentError(error, 'STALE_TERM')) return 'a newer leader has written';
  if (isRetryable(error)) return \`try again; the former call: \${outcomeOf(error)}\`;
  throw error;
}
\`\`\`

A failed store call also has an \`outcome\`. \`refused\`: the store did not apply the call and never
will. \`notSent\`: the request was not sent. \`unknown\`: the store may have applied the call, or may still
apply it. After a write with the outcome \`unknown\`, read before you write again.

"Retryable" below means that \`isRetryable(error)\` is true: the same call may succeed later. Members
retry such errors by themselves.

Two kinds of errors have no such code. A call that is given up through its \`signal\` rejects with the
reason of the signal. \`withLock\` rejects with a \`DOMException\`: its \`name\` is \`TimeoutError\` if
the lock was not free within \`acquireTimeoutMs\`, and \`AbortError\` after a signal of \`stopOn\`.

## Store calls

${Object.entries(storeErrors).map(errorSection).join('\n')}
## Members, elections and options

${Object.entries(otherErrors).map(errorSection).join('\n')}`;
}

function errorSection([code, { meaning, cause, remedy, details }]: readonly [
  string,
  ErrorHelp,
]): string {
  const retryable =
    isKeyOf(storeErrors, code) && isRetryable(new StoreError(code, 'unknown', ''))
      ? ' Retryable.'
      : '';
  return `### \`${code}\`

${wrapped(`${meaning}${retryable}`)}

${item('Cause', cause)}${item('Remedy', remedy)}${details === undefined ? '' : item('Details', details)}`;
}

/** An item of a list. */
function item(name: string, text: string): string {
  return `${wrapped(`- **${name}:** ${text}`, '  ')}\n`;
}

/** The text in lines of at most 100 columns. */
function wrapped(text: string, indent = ''): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + word.length < MAX_COLUMNS) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}

function isKeyOf<T extends object>(table: T, name: PropertyKey): name is keyof T {
  return Object.hasOwn(table, name);
}

function eventsPage(): string {
  return `${NOTICE('event-help.ts')}

# Events and warnings

Each event is published on the channel \`incumbent:<event>\` of \`node:diagnostics_channel\`, and passed
to the \`logger\` of its member or observer. Every event has the \`store\`, its
\`namespace\`, and the identity of its member, besides the fields below. \`JSON.stringify\` writes terms
as text, and an error as its name, code, message and cause.

\`\`\`ts
import diagnosticsChannel from 'node:diagnostics_channel';

diagnosticsChannel.subscribe('incumbent:ended', (fields) => {
  console.log('a leadership has ended', fields);
});
\`\`\`

The \`logger\` gets nearly the same fields. The differences let any logger write them as JSON:

- \`event\` is the name of the event.
- An \`error\`, or another field that is an \`Error\`, has the name \`err\`, under which pino and other
  loggers write the stack of an error.
- A term and any other bigint is a string. Other numbers have at most one decimal.
- The \`errors\` of a list are their codes and messages. The same message several times in a row is
  written once, with the number of times.

\`INCUMBENT_DEBUG=1\` or \`NODE_DEBUG=incumbent\` prints every event, with its time, on standard error,
and every few seconds that \`openStore\` waits for a store (\`waitingForStore\`).

## Why a leadership ends

\`LeadershipEnd.reason\`, which \`onEnded\`, the event \`ended\` and \`LEADERSHIP_ENDED\` carry:

| reason | meaning | remedy |
|---|---|---|
${Object.entries(endReasons)
  .map(([reason, { meaning, remedy }]) => `| \`${reason}\` | ${meaning} | ${remedy} |`)
  .join('\n')}

## Warnings of the process

Warnings of \`process.emitWarning\`, once per process, code and election or file. Node's option
\`--disable-warning=INCUMBENT_…\` hides one of them.

| code | meaning |
|---|---|
${Object.entries(warnings)
  .map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  .join('\n')}

## All events

${telemetryEvents.map(eventSection).join('\n')}`;
}

function eventSection(event: string): string {
  if (!isKeyOf(events, event))
    throw new TypeError(`event-help.ts has no entry for the event ${event}`);
  const { meaning, remedy, fields } = events[event];
  return `### \`${event}\`

${wrapped(meaning)}

${item('Log', logOf(event))}${item('Remedy', remedy)}${item('Fields', fields)}`;
}

/** Fields with which the SDK logs an event on another level than without them. */
const OTHER_LEVELS = {
  ended: { fields: { lost: true }, when: '`lost` is true' },
  sessionEnded: { fields: { reason: 'memberClosed' }, when: '`reason` is `memberClosed`' },
} as const;

/** The level and the text with which the SDK logs an event. */
function logOf(event: keyof typeof events): string {
  const line = lineOf(event, {});
  if (line === undefined) return 'not logged; for metrics and traces';
  const other = isKeyOf(OTHER_LEVELS, event) ? OTHER_LEVELS[event] : undefined;
  const also =
    other === undefined ? '' : `; ${lineOf(event, other.fields)?.level} if ${other.when}`;
  return `${line.level}, "${line.text}"${also}`;
}

/** What a logger gets for an event with these fields, or undefined if the event is not logged. */
function lineOf(
  event: keyof typeof events,
  fields: Readonly<Record<string, unknown>>,
): { readonly level: string; readonly text: string } | undefined {
  let line: { readonly level: string; readonly text: string } | undefined;
  const at =
    (level: string) =>
    (_fields: object, text: string): void => {
      line = { level, text };
    };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
  const telemetry = new Telemetry(logger, {});
  if (event === 'retry') telemetry.emit(event, { ...fields, doing: 'joining', error: undefined });
  else telemetry.emit(event, fields);
  return line;
}
