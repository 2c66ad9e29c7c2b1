/**
 * Checks that nothing is left behind: no timer or keep-alive of a program that has ended, no key or
 * lease at the end, and no session under an id that another process has taken. Also checks that
 * closing takes a bounded time, and that no call fails unexpectedly.
 */

import type { WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface LeftoverRules {
  /** The longest time that closing a member may take, by its own clock, in ms. */
  readonly closeMs: number;
}

export class LeftoverChecker implements Checker {
  longestCloseMs = 0;
  readonly #closeMs: number;
  readonly findings: Findings = new Findings();
  #closing = false;

  constructor({ closeMs }: LeftoverRules) {
    this.#closeMs = closeMs;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'phase':
        this.#closing ||= event.phase === 'closing';
        return undefined;
      case 'queue':
        return this.#queue(event.names, atMs);
      case 'replacedSessionKept':
        return this.findings.add('who was replaced stops', atMs, `${event.process.name} keeps a session, and its id is another's`);
      case 'closed':
        return this.#closed(event, atMs);
      case 'stopped':
        return this.#stopped(event, atMs);
      case 'final':
        return this.#final(event, atMs);
      case 'unexpectedError':
        return this.findings.add('no unexpected error', atMs, `${event.process.name}: ${String(event.error)}`);
      default:
        return undefined;
    }
  }

  #closed({ process, tookMs }: Extract<WorldEvent, { type: 'closed' }>, atMs: number): void {
    this.longestCloseMs = Math.max(this.longestCloseMs, tookMs);
    if (tookMs > this.#closeMs)
      this.findings.add('close is bounded', atMs, `${process.name} took ${Math.round(tookMs)} ms; ${this.#closeMs} ms are allowed`);
  }

  #stopped({ process, left }: Extract<WorldEvent, { type: 'stopped' }>, atMs: number): void {
    const { timers, holds, watches, leases } = left;
    // While faults last, the store may not have received the revocation.
    const kept = this.#closing ? leases : 0;
    if (timers + holds + watches + kept === 0) return;
    this.findings.add(
      'nothing is left behind',
      atMs,
      `${process.name} left ${timers} timers, ${holds} holds, ${watches} watches, ${kept} leases`,
    );
  }

  /**
   * No member has two entries in the queue. All candidates behind an entry that nobody uses would
   * wait for it.
   */
  #queue(names: readonly string[], atMs: number): void {
    const owners = names.map((name) => name.split('~').slice(0, 2).join('~'));
    const twice = owners.filter((owner, index) => owners.indexOf(owner) !== index);
    if (twice.length > 0) this.findings.add('no member has two entries in the queue', atMs, names.join(', '));
  }

  #final({ keys, leases, watches }: Extract<WorldEvent, { type: 'final' }>, atMs: number): void {
    if (keys.length + leases + watches === 0) return;
    this.findings.add('nothing is left behind', atMs, `the store holds ${leases} leases, ${watches} watches, and: ${keys.join(', ')}`);
  }
}
