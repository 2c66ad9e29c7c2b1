/** Telemetry tells the end of every leadership whose beginning it has told, once, and no other end. */

import type { Body, WorldEvent } from '../world/event.ts';
import { Findings, type Checker, type Violation } from './checker.ts';

export class PairChecker implements Checker {
  readonly #findings = new Findings();
  /** By process: the leaderships that were told to have begun, and not to have ended. */
  readonly #open = new Map<Body, Set<string>>();

  get violations(): readonly Violation[] {
    return this.#findings.all;
  }

  see(event: WorldEvent, atMs: number): void {
    if (event.type === 'logged') this.#logged(event, atMs);
    // Telemetry of a process that died is lost with it; one that stopped by itself has told everything.
    else if (event.type === 'died') this.#open.delete(event.body);
    else if (event.type === 'stopped') this.#stopped(event.body, atMs);
  }

  #logged({ body, message, election, term }: Extract<WorldEvent, { type: 'logged' }>, atMs: number): void {
    if (message !== 'elected' && message !== 'leadership ended') return;
    const open = this.#open.get(body) ?? new Set();
    this.#open.set(body, open);
    const name = `${body.name} in term ${term} of ${election}`;
    const isExpected = message === 'elected' ? !open.has(name) : open.has(name);
    if (!isExpected) this.#add(atMs, message === 'elected' ? `${name} was told as elected twice` : `${name} ended, and had not begun`);
    if (message === 'elected') open.add(name);
    else open.delete(name);
  }

  #stopped(body: Body, atMs: number): void {
    for (const name of this.#open.get(body) ?? []) this.#add(atMs, `${name} was told as elected, and never as ended`);
    this.#open.delete(body);
  }

  #add(atMs: number, what: string): void {
    this.#findings.add('elected and ended are told in pairs', atMs, what);
  }
}
