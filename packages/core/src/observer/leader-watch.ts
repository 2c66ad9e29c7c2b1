/** One watch of an election's leader, from its start until it fails or has to be restarted. */

import { onAbort } from '../async/abort.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import { StoreError } from '../base/errors.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import type { Entry, Store } from '../store/contract.ts';
import { follow } from '../store/key-watch.ts';
import { isSameState, isStateOf, type LeaderState, type LeaderStateReader, type VacancyTimer } from './leader-state.ts';

/** What a watch needs. `reader` and `vacancies` remember what former watches have shown. */
export interface LeaderWatchContext {
  readonly store: Store;
  readonly keys: ElectionKeys;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
  readonly reader: LeaderStateReader;
  readonly vacancies: VacancyTimer;
}

/** Receives what a watch finds out. */
export interface LeaderWatchListener {
  /** The state after an event. It is at least as new as the start of the watch. */
  found(state: LeaderState): void;
  /** The watch can no longer confirm the last state. */
  lost(cause: unknown): void;
}

/**
 * Watches the key `leader`. It reads what an event does not tell, such as why nobody leads, and
 * drops that read when the next event arrives.
 */
export class LeaderWatch {
  readonly #context: LeaderWatchContext;
  readonly #listener: LeaderWatchListener;
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<'restart'>();
  /** Aborts the reads for an event when that event is outdated. */
  #eventReads = new AbortController();
  /** The last event. */
  #latest: { readonly entry: Entry | undefined } | undefined;
  /** The last state that this watch has found. */
  #state: LeaderState | undefined;
  #lost: { readonly cause: unknown } | undefined;
  /** Rises with every event and every state found, so that an older read is not used. */
  #generation = 0;

  constructor(context: LeaderWatchContext, listener: LeaderWatchListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** Set while this watch runs, but cannot confirm the last state. */
  get lost(): { readonly cause: unknown } | undefined {
    return this.#over.signal.aborted ? undefined : this.#lost;
  }

  /**
   * Runs until the signal aborts, the watch ends, or `restart` is called. Throws the error of the
   * watch, or of a read for an event. `isAwaited`: the watch counts as lost if it does not show a
   * state in time, because only its predecessor has confirmed the last state.
   */
  async run(signal: AbortSignal, isAwaited: boolean): Promise<'restart' | void> {
    const { store, keys, vacancies } = this.#context;
    const over = this.#over;
    vacancies.lose();
    const stop = onAbort(signal, () => over.abort());
    const options = { signal: over.signal, onStale: (cause: unknown) => (over.signal.aborted ? undefined : this.#lose(cause)) };
    const cancel = isAwaited ? this.#loseUnlessSoon() : () => {};
    const see = (entry: Entry | undefined): void => {
      cancel();
      if (!over.signal.aborted) this.#show(entry);
    };
    const watching = follow(store.watch(keys.leader, options), see, this.#ended.reject);
    try {
      return await Promise.race([watching, this.#ended.promise]);
    } finally {
      over.abort();
      this.#eventReads.abort();
      stop();
      cancel();
      await watching;
    }
  }

  /** Ends the watch, so that another one takes over. The last state does not count as lost. */
  restart(): void {
    this.#ended.resolve('restart');
    this.#over.abort();
  }

  /**
   * Reads the state, to check that the watch still works or to know a state that is newer than this
   * call, and passes it to `found`. `overtaken`: an event or a state that was found meanwhile may
   * be newer than the read. `unable`: this watch has found no state yet, is lost, or is over.
   * Restarts the watch if the read fails, or shows what the watch has not shown.
   */
  async confirm(found: (state: LeaderState) => void): Promise<'found' | 'overtaken' | 'unable'> {
    const { reader } = this.#context;
    const { signal } = this.#over;
    const [generation, latest, last] = [this.#generation, this.#latest, this.#state];
    if (signal.aborted || this.#lost !== undefined || latest === undefined || last === undefined) return 'unable';
    try {
      const state = await reader.stateFor(await reader.leader(signal), signal);
      if (generation !== this.#generation) return 'overtaken';
      this.#eventReads.abort();
      found(this.#accept(state));
      if (!isSameState(state, last) || !isStateOf(latest.entry, state)) this.restart();
      return 'found';
    } catch {
      if (!signal.aborted && this.#lost === undefined) this.restart();
      return 'unable';
    }
  }

  #show(entry: Entry | undefined): void {
    this.#generation += 1;
    this.#latest = { entry };
    this.#eventReads.abort();
    if (entry === undefined && this.#lost === undefined && this.#state?.state === 'leader') this.#context.vacancies.begin(this.#state);
    const { signal } = (this.#eventReads = new AbortController());
    this.#context.reader.stateFor(entry, signal).then(
      (state) => (signal.aborted ? undefined : this.#listener.found(this.#accept(state))),
      (error: unknown) => (signal.aborted ? undefined : this.#ended.reject(error)),
    );
  }

  /** Remembers the state, and adds how long nobody led before it. */
  #accept(read: LeaderState): LeaderState {
    const { reader, vacancies } = this.#context;
    const state = read.state === 'leader' ? vacancies.end(read) : read;
    reader.keep(state);
    this.#generation += 1;
    this.#state = state;
    this.#lost = undefined;
    return state;
  }

  #loseUnlessSoon(): Cancel {
    const { clock, callTimeoutMs } = this.#context;
    return clock.schedule(callTimeoutMs, () =>
      this.#lose(new StoreError('TIMEOUT', 'unknown', `watch: no state within ${callTimeoutMs} ms`)),
    );
  }

  #lose(cause: unknown): void {
    this.#generation += 1;
    this.#eventReads.abort();
    this.#context.vacancies.lose();
    this.#lost = { cause };
    this.#listener.lost(cause);
  }
}
