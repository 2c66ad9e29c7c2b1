/** Observers never go back, unless the store itself has, tell an end on purpose from another, and agree in the end with what is so. */

import type { Body, Shown, WorldEvent } from '../event.ts';
import { Findings, type Checker, type Violation } from './checker.ts';

export class ObserverChecker implements Checker {
  readonly #findings = new Findings();
  readonly #highest = new Map<Body, bigint>();
  readonly #latest = new Map<Body, Shown>();
  /** Terms whose holder has taken its record away itself, and so has written down why. */
  readonly #told = new Set<bigint>();
  /** Terms whose record was there, and is not any more. */
  readonly #gone = new Set<bigint>();
  #newest = 0n;
  readonly #stopped = new Set<Body>();

  get violations(): readonly Violation[] {
    return this.#findings.all;
  }

  see(event: WorldEvent, atMs: number): void {
    if (event.type === 'issued') this.#newest = event.term;
    else if (event.type === 'recordGone') this.#recordGone(event);
    else if (event.type === 'shown') this.#shown(event.observer, event.view, atMs);
    else if (event.type === 'stopped' || event.type === 'died') this.#stopped.add(event.body);
    else if (event.type === 'blind') this.#blind(event.body, atMs);
    // It has been calm for long.
    else if (event.type === 'phase' && (event.phase === 'deposed' || event.phase === 'failover')) this.#agree(atMs);
  }

  #recordGone({ term, cause }: Extract<WorldEvent, { type: 'recordGone' }>): void {
    this.#gone.add(term);
    if (cause.by === 'client') this.#told.add(term);
  }

  #shown(observer: Body, view: Shown, atMs: number): void {
    this.#latest.set(observer, view);
    const { term } = view;
    if (term === undefined) return;
    const highest = this.#highest.get(observer) ?? 0n;
    if (term < highest && view.reason !== 'termReset') {
      this.#findings.add('observers never go back', atMs, `${observer.name} was shown term ${term} after term ${highest}`);
    }
    this.#highest.set(observer, term);
    if (view.state !== 'vacant' || view.reason !== 'expired') return;
    const wrong = this.#told.has(term) ? 'its holder ended it' : this.#gone.has(term) ? undefined : 'its record is there';
    if (wrong !== undefined)
      this.#findings.add('observers tell why nobody leads', atMs, `${observer.name} shows that term ${term} expired; ${wrong}`);
  }

  #blind(observer: Body, atMs: number): void {
    const view = this.#latest.get(observer);
    if (view === undefined || view.state === 'unknown' || this.#stopped.has(observer)) return;
    this.#findings.add('observers say when they do not know', atMs, `${observer.name} shows ${view.state}, and hears of nothing`);
  }

  #agree(atMs: number): void {
    for (const [observer, view] of this.#latest) {
      if (this.#stopped.has(observer) || (view.state === 'leader' && view.term === this.#newest)) continue;
      const what = `${observer.name} shows ${view.state}, term ${view.term}, in calm; it is term ${this.#newest}`;
      this.#findings.add('observers agree in the end', atMs, what);
    }
  }
}
