/**
 * The messages of `run` on standard error. The program's own output is passed through unchanged.
 */

import type { LeadershipEnd, Logger } from '@incumbent/core';

import { showDuration } from '../common/duration.ts';
import { toJson } from '../common/json.ts';
import type { Printer, Style } from '../common/printer.ts';
import type { ProgramEnd } from './process-group.ts';

export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** Log messages of core that `run` replaces by its own. */
const REPLACED = new Set(['elected', 'leadership ended']);
/**
 * Warnings of core that are shown with --verbose only: `doctor` reports the first, and the second
 * comes with every lost term.
 */
const DETAILS = new Set(['this store may end a lease that is being renewed', 'session ended']);

export class RunLog {
  readonly #err: Printer;
  readonly #verbosity: Verbosity;
  readonly #replaced: ReadonlySet<string>;

  /** `replaced`: further log messages of core that are replaced by the caller's own. */
  constructor(err: Printer, verbosity: Verbosity, replaced: readonly string[] = []) {
    this.#err = err;
    this.#verbosity = verbosity;
    this.#replaced = new Set([...REPLACED, ...replaced]);
  }

  waitingForStore(why: string): void {
    this.#say('yellow', `waits for the store: ${why}`, true);
  }

  campaigning(election: string, memberId: string, store: string): void {
    this.#say('cyan', `waits to lead "${election}" as "${memberId}" (${store})`);
  }

  /** `program` has no arguments, because those may contain secrets. */
  leading(election: string, term: bigint, program: string): void {
    this.#say('green', `leads "${election}" in term ${term}: starts ${program}`);
  }

  programEnded({ code, signal }: ProgramEnd, term: bigint): void {
    this.#say('dim', `the program of term ${term} ended: ${signal === undefined ? `exit code ${code}` : signal}`);
  }

  /**
   * @param graceMs Time between SIGTERM and SIGKILL; undefined if the program has ended already.
   */
  ended(end: LeadershipEnd, graceMs: number | undefined): void {
    const how =
      graceMs === undefined ? 'has ended' : graceMs > 0 ? `gets SIGTERM, then SIGKILL in ${showDuration(graceMs)}` : 'gets SIGKILL';
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

  /** Prints core's log: warnings always, and details with --verbose only. */
  get logger(): Logger {
    const detail = (fields: object, message: string): void => {
      if (this.#verbosity === 'verbose' && !this.#replaced.has(message)) this.#say('dim', `${message} ${toJson(fields)}`);
    };
    const warn = (fields: object, message: string): void => {
      if (DETAILS.has(message)) detail(fields, message);
      else if (!this.#replaced.has(message)) this.#say('yellow', `${message}${explain(fields)}`, true);
    };
    const info = (fields: object, message: string): void => {
      if (this.#verbosity === 'verbose') detail(fields, message);
      else if (!this.#replaced.has(message)) this.#say('cyan', `${message}${explain(fields)}`);
    };
    return { debug: detail, info, warn, error: warn };
  }

  #say(style: Style, text: string, important = false): void {
    if (this.#verbosity !== 'quiet' || important) this.#err.line(`${this.#err.style(style, 'incumbent:')} ${text}`);
  }
}

/** The fields of a warning that explain it. */
function explain(fields: object): string {
  const parts = ['why', 'doing', 'reason', 'blockedMs', 'remainingMs'].flatMap((name) =>
    name in fields ? [`${name}: ${String(Reflect.get(fields, name))}`] : [],
  );
  const error: unknown = 'err' in fields ? fields.err : undefined;
  if (error instanceof Error) parts.push(error.message);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
