/** What `run` says on standard error. The program's own output is not touched. */

import type { LeadershipEnd, Logger } from '@incumbent/core';

import { showDuration } from '../duration.ts';
import { toJson } from '../json.ts';
import type { Printer, Style } from '../printer.ts';
import type { ProgramEnd } from './process-group.ts';

export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** What core tells that the lines of `run` say already. */
const SAID = new Set(['elected', 'leadership ended']);
/** Warnings that are no news to whoever runs a program: `doctor` tells the first, and the second comes with the end of a term. */
const DETAILS = new Set(['this store may end a lease that is being renewed', 'session ended']);

export class RunLog {
  readonly #err: Printer;
  readonly #verbosity: Verbosity;

  constructor(err: Printer, verbosity: Verbosity) {
    this.#err = err;
    this.#verbosity = verbosity;
  }

  campaigning(election: string, memberId: string, store: string): void {
    this.#say('cyan', `waits to lead "${election}" as "${memberId}" (${store})`);
  }

  /** `program`: without its arguments, which may hold secrets. */
  leading(election: string, term: bigint, program: string): void {
    this.#say('green', `leads "${election}" in term ${term}: starts ${program}`);
  }

  programEnded({ code, signal }: ProgramEnd, term: bigint): void {
    this.#say('dim', `the program of term ${term} ended: ${signal === undefined ? `exit code ${code}` : signal}`);
  }

  /** `graceMs`: undefined where the program is gone already. */
  ended(end: LeadershipEnd, graceMs: number | undefined): void {
    const how = graceMs === undefined ? 'is gone' : graceMs > 0 ? `gets SIGTERM, and SIGKILL in ${showDuration(graceMs)}` : 'gets SIGKILL';
    const [last] = end.errors.slice(-1);
    const why = last instanceof Error ? ` (${last.message})` : '';
    this.#say(end.lost ? 'yellow' : 'cyan', `leads no more in term ${end.term}: ${end.reason}${why}; the program ${how}`, end.lost);
  }

  restarting(delayMs: number): void {
    this.#say('cyan', `waits ${showDuration(delayMs)}, then campaigns again`);
  }

  error(text: string): void {
    this.#err.line(`${this.#err.style('red', 'incumbent:')} ${text}`);
  }

  /** For core's own words: its warnings always, the rest when asked for. */
  get logger(): Logger {
    const detail = (fields: object, message: string): void => {
      if (this.#verbosity === 'verbose' && !SAID.has(message)) this.#say('dim', `${message} ${toJson(fields)}`);
    };
    const warn = (fields: object, message: string): void => {
      if (DETAILS.has(message)) detail(fields, message);
      else if (!SAID.has(message)) this.#say('yellow', `${message}${brief(fields)}`, true);
    };
    return { debug: detail, info: detail, warn, error: warn };
  }

  #say(style: Style, text: string, important = false): void {
    if (this.#verbosity !== 'quiet' || important) this.#err.line(`${this.#err.style(style, 'incumbent:')} ${text}`);
  }
}

/** Of an event's fields, what a person needs. */
function brief(fields: object): string {
  const parts = ['why', 'doing', 'reason', 'blockedMs', 'remainingMs'].flatMap((name) =>
    name in fields ? [`${name}: ${String(Reflect.get(fields, name))}`] : [],
  );
  const error: unknown = 'err' in fields ? fields.err : undefined;
  if (error instanceof Error) parts.push(error.message);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
