/**
 * Checks observers. An observer never shows an older state after a newer one unless the store
 * itself has gone back, and shows nothing older than its own start. The same holds for the values
 * that a leader publishes within its term. An observer distinguishes a release on purpose from any
 * other end, and in the end shows the state and the value in the store.
 */

import type { ProcessView, ObserverView, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

/** An observer and what it has shown. */
interface ObserverState {
  readonly name: string;
  readonly process: ProcessView;
  /**
   * The state of the store when the observer started. Absent if the start is unknown: the first
   * view was not `unknown`, and the observer has no name.
   */
  readonly began: { readonly newest: bigint; readonly changes: number } | undefined;
  highest: bigint | undefined;
  /** The term whose end the observer showed last, if it has shown no leader since. */
  over: bigint | undefined;
  latest: ObserverView;
  /** The last view of a leader, and its value, as {@link inWords} returns them. */
  leader: { readonly term: bigint | undefined; readonly value: string } | undefined;
}

export interface ObserverRules {
  /**
   * For how long, in ms, the record must not have changed before every observer must show its
   * value. Default: for ever, so that values are not compared in the end.
   */
  readonly lagMs?: number;
  /**
   * Whether to compare the values that observers show with those in the store. That requires that
   * no leader publishes a value twice in a term, and that observers report values. Default true.
   */
  readonly comparesValues?: boolean;
}

export class ObserverChecker implements Checker {
  readonly findings: Findings = new Findings();
  readonly #observers = new Map<string, ObserverState>();
  /** Terms whose holder deleted its record itself, and so has written the reason. */
  readonly #reasonWritten = new Set<bigint>();
  /**
   * Terms whose record was deleted, and published values that are gone, each with the number of the
   * change that removed it.
   */
  readonly #gone = new Map<bigint, number>();
  readonly #replaced = new Map<string, number>();
  /** Published values, each with the number of the change that wrote it. */
  readonly #written = new Map<string, number>();
  readonly #lagMs: number;
  readonly #comparesValues: boolean;
  #changedAtMs = 0;
  #changes = 0;
  #isSilenced = false;
  #isSick = false;
  #published: string | undefined;
  #newest = 0n;

  constructor({ lagMs = Infinity, comparesValues = true }: ObserverRules = {}) {
    this.#lagMs = comparesValues ? lagMs : Infinity;
    this.#comparesValues = comparesValues;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    if (event.type === 'issued') this.#newest = event.term;
    else if (event.type === 'record') this.#record(event, atMs);
    else if (event.type === 'recordGone') this.#recordGone(event);
    else if (event.type === 'shown') this.#shown(event, atMs);
    else if (event.type === 'observerClosed') this.#observers.delete(nameOf(event));
    else if (event.type === 'stopped' || event.type === 'died') this.#end(event.process);
    else if (event.type === 'isolated') this.#blind(event.process, atMs);
    else if (event.type === 'watchesSilenced') this.#isSilenced = true;
    else if (event.type === 'serverHung') this.#isSick = true;
    // By now every observer has checked the store itself. It shows the state of the store, or
    // `unknown`.
    else if (event.type === 'phase' && event.phase === 'closing' && this.#isSilenced) this.#agree(atMs, 'unknown');
    // The server works again, so observers must show the state of the store.
    else if (event.type === 'phase' && event.phase === 'closing' && this.#isSick) this.#agree(atMs);
    // The world has been calm for a long time, so observers must show the state of the store.
    else if (event.type === 'phase' && (event.phase === 'deposed' || event.phase === 'failover')) this.#agree(atMs);
  }

  #recordGone({ term, cause }: Extract<WorldEvent, { type: 'recordGone' }>): void {
    this.#changes += 1;
    this.#gone.set(term, this.#changes);
    if (cause.by === 'client') this.#reasonWritten.add(term);
  }

  /**
   * A record that reappears was not deleted for good. This happens only when the store has gone
   * back.
   */
  #record({ term, value }: Extract<WorldEvent, { type: 'record' }>, atMs: number): void {
    this.#changes += 1;
    this.#changedAtMs = atMs;
    if (this.#published !== undefined) this.#replaced.set(this.#published, this.#changes);
    this.#published = term === undefined ? undefined : inWords(term, value);
    if (term !== undefined) this.#gone.delete(term);
    if (this.#published === undefined) return;
    this.#replaced.delete(this.#published);
    this.#written.set(this.#published, this.#changes);
  }

  #shown(event: Extract<WorldEvent, { type: 'shown' }>, atMs: number): void {
    const { view } = event;
    const one = this.#observers.get(nameOf(event)) ?? this.#begun(event);
    one.latest = view;
    if (view.state !== 'unknown') this.#age(one, view, atMs);
    if (view.state === 'leader') this.#leader(one, view, atMs);
    const { term } = view;
    if (term === undefined) return;
    if (one.highest !== undefined && term < one.highest && view.reason !== 'termReset') {
      this.findings.add('observers never go back', atMs, `${one.name} was shown term ${term} after term ${one.highest}`);
    }
    if (view.state === 'leader' && one.over === term && this.#gone.has(term))
      this.findings.add('observers never go back', atMs, `${one.name} was shown the leader of term ${term} after its end`);
    one.highest = term;
    if (view.state !== 'unknown') one.over = view.state === 'vacant' ? term : undefined;
    if (view.state !== 'vacant' || view.reason !== 'expired') return;
    const wrong = this.#reasonWritten.has(term) ? 'its holder ended it' : this.#gone.has(term) ? undefined : 'its record is there';
    if (wrong !== undefined)
      this.findings.add('observers tell why nobody leads', atMs, `${one.name} shows that term ${term} expired; ${wrong}`);
  }

  #begun(event: Extract<WorldEvent, { type: 'shown' }>): ObserverState {
    const { observer: process, view, name } = event;
    const began = name !== undefined || view.state === 'unknown' ? { newest: this.#newest, changes: this.#changes } : undefined;
    const one: ObserverState = {
      name: nameOf(event),
      process,
      began,
      highest: undefined,
      over: undefined,
      latest: view,
      leader: undefined,
    };
    this.#observers.set(one.name, one);
    return one;
  }

  /** An observer never shows a value of a term that was replaced before the value shown last. */
  #leader(one: ObserverState, { term, value }: ObserverView, atMs: number): void {
    const before = one.leader;
    one.leader = { term, value: inWords(term, value) };
    if (before === undefined || before.term !== term || before.value === one.leader.value) return;
    const [replaced, written] = [this.#replaced.get(one.leader.value), this.#written.get(before.value)];
    if (this.#comparesValues && replaced !== undefined && written !== undefined && replaced <= written)
      this.findings.add('observers never go back', atMs, `${one.name} was shown ${one.leader.value} after ${before.value}`);
  }

  /**
   * The first view of an observer is not older than its start. An observer never shows a state that
   * was gone by then.
   */
  #age({ name, began, highest }: ObserverState, { state, term, value }: ObserverView, atMs: number): void {
    if (began === undefined) return;
    const isFirst = highest === undefined;
    const older = isFirst && (term ?? 0n) < began.newest ? `the newest was ${began.newest}` : undefined;
    const wasGone = (change: number | undefined): boolean => state === 'leader' && change !== undefined && change <= began.changes;
    const replaced = wasGone(this.#replaced.get(inWords(term, value))) ? 'another value was published' : older;
    const wrong = term !== undefined && wasGone(this.#gone.get(term)) ? 'its record was gone' : replaced;
    if (wrong !== undefined)
      this.findings.add('observers are told nothing older', atMs, `${name} shows ${state}, term ${term}; when it began, ${wrong}`);
  }

  #end(process: ProcessView): void {
    for (const [name, one] of this.#observers) if (one.process === process) this.#observers.delete(name);
  }

  #blind(process: ProcessView, atMs: number): void {
    for (const one of this.#observers.values()) {
      const { name, latest } = one;
      if (one.process !== process || latest.state === 'unknown') continue;
      this.findings.add('observers say when they do not know', atMs, `${name} shows ${latest.state}, and hears of nothing`);
    }
  }

  #agree(atMs: number, allowed?: 'unknown'): void {
    // A silent watch shows the value only when the observer next checks for itself.
    const isSettled = allowed === undefined && atMs - this.#changedAtMs > this.#lagMs;
    for (const { name, latest, leader } of this.#observers.values()) {
      const isShown = latest.state === 'leader' && latest.term === this.#newest;
      if (isShown && isSettled && leader?.value !== this.#published)
        this.findings.add('observers agree in the end', atMs, `${name} shows ${leader?.value} in calm; the record is ${this.#published}`);
      if (latest.state === allowed || isShown) continue;
      const what = `${name} shows ${latest.state}, term ${latest.term}, in calm; it is term ${this.#newest}`;
      this.findings.add('observers agree in the end', atMs, what);
    }
  }
}

function inWords(term: bigint | undefined, value: unknown): string {
  return `${term} ${JSON.stringify(value)}`;
}

function nameOf({ observer, name }: Extract<WorldEvent, { type: 'shown' | 'observerClosed' }>): string {
  return name === undefined ? observer.name : `${observer.name}/${name}`;
}
