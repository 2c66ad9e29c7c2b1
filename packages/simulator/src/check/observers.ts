/**
 * Observers never go back, unless the store itself has, and are told nothing older than their beginning; they tell an end on purpose from another, and agree in
 * the end with what is so.
 */

import type { Body, Shown, WorldEvent } from '../event.ts';
import { Findings, type Checker, type Violation } from './checker.ts';

/** One that observes, and what it has been shown. */
interface Watching {
  readonly name: string;
  readonly body: Body;
  /** What the store had when it began; absent where nobody knows when that was: its first view was a known one, and it has no name. */
  readonly began: { readonly newest: bigint; readonly gone: ReadonlySet<bigint> } | undefined;
  highest: bigint | undefined;
  latest: Shown;
}

export class ObserverChecker implements Checker {
  readonly #findings = new Findings();
  readonly #watching = new Map<string, Watching>();
  /** Terms whose holder has taken its record away itself, and so has written down why. */
  readonly #told = new Set<bigint>();
  /** Terms whose record was there, and is not any more. */
  readonly #gone = new Set<bigint>();
  #newest = 0n;

  get violations(): readonly Violation[] {
    return this.#findings.all;
  }

  see(event: WorldEvent, atMs: number): void {
    if (event.type === 'issued') this.#newest = event.term;
    else if (event.type === 'recordGone') this.#recordGone(event);
    else if (event.type === 'shown') this.#shown(event, atMs);
    else if (event.type === 'unobserved') this.#watching.delete(nameOf(event));
    else if (event.type === 'stopped' || event.type === 'died') this.#end(event.body);
    else if (event.type === 'blind') this.#blind(event.body, atMs);
    // It has been calm for long.
    else if (event.type === 'phase' && (event.phase === 'deposed' || event.phase === 'failover')) this.#agree(atMs);
  }

  #recordGone({ term, cause }: Extract<WorldEvent, { type: 'recordGone' }>): void {
    this.#gone.add(term);
    if (cause.by === 'client') this.#told.add(term);
  }

  #shown(event: Extract<WorldEvent, { type: 'shown' }>, atMs: number): void {
    const { view } = event;
    const one = this.#watching.get(nameOf(event)) ?? this.#begun(event);
    one.latest = view;
    if (view.state !== 'unknown') this.#age(one, view, atMs);
    const { term } = view;
    if (term === undefined) return;
    if (one.highest !== undefined && term < one.highest && view.reason !== 'termReset') {
      this.#findings.add('observers never go back', atMs, `${one.name} was shown term ${term} after term ${one.highest}`);
    }
    one.highest = term;
    if (view.state !== 'vacant' || view.reason !== 'expired') return;
    const wrong = this.#told.has(term) ? 'its holder ended it' : this.#gone.has(term) ? undefined : 'its record is there';
    if (wrong !== undefined)
      this.#findings.add('observers tell why nobody leads', atMs, `${one.name} shows that term ${term} expired; ${wrong}`);
  }

  #begun(event: Extract<WorldEvent, { type: 'shown' }>): Watching {
    const { observer: body, view, name } = event;
    const began = name !== undefined || view.state === 'unknown' ? { newest: this.#newest, gone: new Set(this.#gone) } : undefined;
    const one: Watching = { name: nameOf(event), body, began, highest: undefined, latest: view };
    this.#watching.set(one.name, one);
    return one;
  }

  /** What it is shown first is no older than its beginning; and a record that was gone by then it never sees. */
  #age({ name, began, highest }: Watching, { state, term }: Shown, atMs: number): void {
    if (began === undefined) return;
    const isFirst = highest === undefined;
    const older = isFirst && (term ?? 0n) < began.newest ? `the newest was ${began.newest}` : undefined;
    const wrong = state === 'leader' && term !== undefined && began.gone.has(term) ? 'its record was gone' : older;
    if (wrong !== undefined)
      this.#findings.add('observers are told nothing older', atMs, `${name} shows ${state}, term ${term}; when it began, ${wrong}`);
  }

  #end(body: Body): void {
    for (const [name, one] of this.#watching) if (one.body === body) this.#watching.delete(name);
  }

  #blind(body: Body, atMs: number): void {
    for (const one of this.#watching.values()) {
      const { name, latest } = one;
      if (one.body !== body || latest.state === 'unknown') continue;
      this.#findings.add('observers say when they do not know', atMs, `${name} shows ${latest.state}, and hears of nothing`);
    }
  }

  #agree(atMs: number): void {
    for (const { name, latest } of this.#watching.values()) {
      if (latest.state === 'leader' && latest.term === this.#newest) continue;
      const what = `${name} shows ${latest.state}, term ${latest.term}, in calm; it is term ${this.#newest}`;
      this.#findings.add('observers agree in the end', atMs, what);
    }
  }
}

function nameOf({ observer, name }: Extract<WorldEvent, { type: 'shown' | 'unobserved' }>): string {
  return name === undefined ? observer.name : `${observer.name}/${name}`;
}
