/**
 * All elections of the namespace. Lists their names every few seconds, and watches each election by
 * one observer, whatever the number of viewers: a store tells of a change at once, and only a watch
 * can measure a vacancy. Writes a row for each election, and the recent ends of all.
 */

import { type Cancel, type Clock, ElectionObserver, type ElectionView, isRetryable, type Random, type Store } from '@incumbent/core';

import { errorFields } from '../common/output.ts';
import { electionNames } from '../doctor/probe-target.ts';
import type { Board } from './board.ts';
import type { ElectionRow, TermEnd } from './documents.ts';
import { ElectionHistory } from './history.ts';

/** How often the names are listed, in ms. */
const LIST_EVERY_MS = 5_000;
/** How soon a listing that has failed is repeated, in ms. */
const LIST_AGAIN_MS = 2_000;
/**
 * A slow listing is repeated after this many times its duration, so that the store is mostly idle.
 */
const REST_AFTER_LIST = 20;
/** The most elections that are watched. The others are counted only. */
const MAX_ELECTIONS = 20_000;
/**
 * How many watches are begun at a time, and how long the next ones wait for their first answers, in
 * ms.
 */
const BEGIN_AT_ONCE = 250;
const BEGIN_WITHIN_MS = 1_000;
/** How many parts of the timeline a row has. */
const ROW_SPANS = 12;
/** How many ends the list of all elections has. */
const RECENT_ENDS = 60;

export interface ElectionsOptions {
  readonly store: Store;
  readonly board: Board;
  readonly clock: Clock;
  readonly random?: Random;
  /**
   * Called after each listing: with the error if it has failed, else with how many are not shown.
   */
  readonly listed: (result: { readonly hidden: number } | { readonly error: unknown }) => void;
}

interface Watched {
  readonly observer: ElectionObserver;
  readonly history: ElectionHistory;
}

export class WatchedElections implements AsyncDisposable {
  readonly #options: ElectionsOptions;
  readonly #watched = new Map<string, Watched>();
  /** Names whose watch has not begun. */
  readonly #waiting: string[] = [];
  readonly #closing = new AbortController();
  readonly #changed = new Map<string, Set<() => void>>();
  #ends: readonly TermEnd[] = [];
  #endCount = 0;
  #unanswered = 0;
  #cancelList: Cancel = () => {};
  #cancelBegin: Cancel | undefined;
  #listing: Promise<void> | undefined;
  #isListDue = false;
  /** True if the last listing has failed. */
  #isAway = false;

  constructor(options: ElectionsOptions) {
    this.#options = options;
    options.board.set('ends', []);
  }

  /** Lists the names now, and then every few seconds. */
  start(): void {
    this.#listSoon();
  }

  /** Undefined for an election that is not watched. */
  history(name: string): ElectionHistory | undefined {
    return this.#watched.get(name)?.history;
  }

  /** Calls the listener after every view of this election. */
  onChange(name: string, listener: () => void): Cancel {
    const listeners = this.#changed.get(name) ?? new Set();
    this.#changed.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#changed.delete(name);
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelList();
    this.#cancelBegin?.();
    await this.#listing;
    await Promise.all([...this.#watched.values()].map(async ({ observer }) => observer.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Lists now, or once more if a listing is under way: its answer may be older than the reason to
   * list.
   */
  #listSoon(): void {
    this.#isListDue = true;
    if (this.#closing.signal.aborted) return;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined;
    });
  }

  async #list(): Promise<void> {
    const { store, clock, listed } = this.#options;
    this.#cancelList();
    let restMs = LIST_EVERY_MS;
    while (this.#isListDue && !this.#closing.signal.aborted) {
      this.#isListDue = false;
      const from = clock.monotonic();
      try {
        const names = await electionNames(store, { signal: this.#closing.signal });
        this.#isAway = false;
        this.#show(names.slice(0, MAX_ELECTIONS));
        listed({ hidden: Math.max(names.length - MAX_ELECTIONS, 0) });
        restMs = Math.max(LIST_EVERY_MS, (clock.monotonic() - from) * REST_AFTER_LIST);
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#isAway = true;
        listed({ error });
        restMs = LIST_AGAIN_MS;
      }
    }
    if (this.#closing.signal.aborted) return;
    this.#cancelList = clock.schedule(restMs, () => this.#listSoon());
  }

  #show(names: readonly string[]): void {
    const { board } = this.#options;
    const present = new Set(names);
    for (const [name, { observer }] of this.#watched) {
      if (present.has(name)) continue;
      // Somebody has deleted all of its keys.
      this.#watched.delete(name);
      board.delete(`election/${name}`);
      void observer.close();
    }
    for (const name of names) {
      if (this.#watched.has(name)) continue;
      const { store, clock, random } = this.#options;
      const observer = new ElectionObserver(store, name, { clock, ...(random === undefined ? {} : { random }) });
      this.#watched.set(name, { observer, history: new ElectionHistory(name, () => (this.#endCount += 1)) });
      board.set(`election/${name}`, { state: 'waiting', spans: [], ends: 0 });
      this.#waiting.push(name);
    }
    this.#beginNext();
  }

  /** Begins some of the waiting watches, so that thousands do not all ask the store at once. */
  #beginNext(): void {
    if (this.#cancelBegin !== undefined || this.#waiting.length === 0 || this.#closing.signal.aborted) return;
    const names = this.#waiting.splice(0, BEGIN_AT_ONCE);
    const next = (): void => {
      this.#cancelBegin?.();
      this.#cancelBegin = undefined;
      this.#unanswered = 0;
      this.#beginNext();
    };
    this.#cancelBegin = this.#options.clock.schedule(BEGIN_WITHIN_MS, next);
    this.#unanswered = names.length;
    for (const name of names) this.#begin(name, () => (this.#unanswered -= 1) === 0 && next());
  }

  #begin(name: string, answered: () => void): void {
    const watched = this.#watched.get(name);
    if (watched === undefined) return answered();
    let isFirst = true;
    watched.observer.subscribe((view) => {
      this.#see(name, watched, view);
      if (view.state === 'unknown' && view.cause === undefined) return;
      if (isFirst) answered();
      isFirst = false;
    });
  }

  #see(name: string, { history }: Watched, view: ElectionView): void {
    const { board, clock } = this.#options;
    const end = history.see(view, clock.wall());
    if (end !== undefined) this.#addEnd(end);
    board.set(`election/${name}`, rowOf(view, history));
    // So that it shows at once whether the store is away, or back.
    const isLost = view.state === 'unknown' && view.cause !== undefined && isRetryable(view.cause);
    if (isLost !== this.#isAway && (isLost || view.state !== 'unknown')) this.#listSoon();
    for (const listener of this.#changed.get(name) ?? []) listener();
  }

  #addEnd(end: TermEnd): void {
    const others = this.#ends.filter(({ id }) => id !== end.id);
    const isNew = others.length === this.#ends.length;
    this.#ends = isNew ? [end, ...others].slice(0, RECENT_ENDS) : this.#ends.map((each) => (each.id === end.id ? end : each));
    this.#options.board.set('ends', this.#ends);
  }
}

function rowOf(view: ElectionView, history: ElectionHistory): ElectionRow {
  const { since, count } = history;
  const common = {
    spans: history.spans.slice(-ROW_SPANS),
    ends: count,
    ...(since === undefined ? {} : { since: since.at, isOlder: since.isOlder }),
  };
  switch (view.state) {
    case 'leader': {
      const reason = view.previous === undefined ? {} : { reason: view.previous.reason };
      return { ...common, state: 'leader', term: String(view.term), member: view.memberId, ...reason };
    }
    case 'vacant':
      return { ...common, state: 'vacant', reason: view.reason, ...(view.term === undefined ? {} : { term: String(view.term) }) };
    case 'unknown': {
      if (view.cause === undefined) return { ...common, state: 'waiting' };
      const error = errorFields(view.cause);
      if (!isRetryable(view.cause)) return { ...common, state: 'unreadable', error };
      const { last } = view;
      const term = last?.term === undefined ? {} : { term: String(last.term) };
      return { ...common, state: 'unknown', error, ...term, ...(last?.state === 'leader' ? { member: last.memberId } : {}) };
    }
    default:
      return view satisfies never;
  }
}
