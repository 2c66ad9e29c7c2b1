/** One watch of an election for all who observe it in this process, through one store: thousands of observers ask the store no more than one does. */

import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { isIncumbentError } from './errors.ts';
import type { ElectionKeys } from './keys.ts';
import type { Random } from './random.ts';
import { Eye, isSameSight, type Sight } from './sight.ts';
import { onAbort } from './signals.ts';
import type { Entry, Key, Store } from './store.ts';
import { follow, sleep } from './waits.ts';

/** One who observes. What it is told is no older than its coming. */
export interface Witness {
  saw(sight: Sight): void;
  /** What was seen can no longer be vouched for. */
  lost(cause: unknown): void;
}

export interface LookoutContext {
  readonly store: Store;
  readonly keys: ElectionKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly callTimeoutMs: number;
}

const lookouts = new WeakMap<Store, Map<Key, Set<Lookout>>>();

/** Begins to tell the witness. What it returns ends that, and with the last witness the watch: it resolves when that has ended. */
export function lookOut(context: LookoutContext, witness: Witness): () => Promise<void> {
  const { store, keys } = context;
  const ofStore = lookouts.get(store) ?? new Map<Key, Set<Lookout>>();
  lookouts.set(store, ofStore);
  const same = ofStore.get(keys.leader) ?? new Set<Lookout>();
  ofStore.set(keys.leader, same);
  const forget = (lookout: Lookout): void => {
    same.delete(lookout);
    if (same.size === 0 && ofStore.get(keys.leader) === same) ofStore.delete(keys.leader);
  };
  const lookout = [...same].find((other) => other.serves(context)) ?? new Lookout(context, forget);
  same.add(lookout);
  return lookout.join(witness);
}

class Lookout {
  readonly #context: LookoutContext;
  readonly #forget: (lookout: Lookout) => void;
  readonly #eye: Eye;
  readonly #backoff: Backoff;
  readonly #witnesses = new Set<Witness>();
  /** Those of them who have been told nothing yet: what is known may be older than they are. */
  readonly #newcomers = new Set<Witness>();
  /** Those of them who came before the watch was begun, so that its first state is no older. */
  #early: readonly Witness[] = [];
  readonly #closed = new AbortController();
  #watching: Promise<void> | undefined;
  /** Aborts with the watch that is followed now. */
  #over = new AbortController();
  /** Aborts when what the watch told last, and is being looked into, no longer counts. */
  #look = new AbortController();
  #fail: (error: unknown) => void = () => {};
  /** Counts what the watch has told, its going stale included. */
  #told = 0;
  #seen: Sight | undefined;
  #lost: { readonly cause: unknown } | undefined;
  #isLookingAgain = false;

  constructor(context: LookoutContext, forget: (lookout: Lookout) => void) {
    const { store, keys, random, callTimeoutMs } = context;
    this.#context = context;
    this.#forget = forget;
    this.#eye = new Eye(store, keys, callTimeoutMs);
    this.#backoff = new Backoff(random, 500, 30_000);
  }

  /** Whether it asks as one of this context would. */
  serves({ clock, callTimeoutMs }: LookoutContext): boolean {
    return clock === this.#context.clock && callTimeoutMs === this.#context.callTimeoutMs;
  }

  join(witness: Witness): () => Promise<void> {
    this.#witnesses.add(witness);
    this.#newcomers.add(witness);
    if (this.#lost !== undefined) witness.lost(this.#lost.cause);
    if (this.#watching === undefined) this.#watching = this.#watch();
    else void this.#lookAgain();
    return () => this.#leave(witness);
  }

  async #leave(witness: Witness): Promise<void> {
    this.#witnesses.delete(witness);
    this.#newcomers.delete(witness);
    if (this.#witnesses.size > 0) return;
    this.#forget(this);
    this.#closed.abort();
    await this.#watching;
  }

  /** What the store refuses today it may allow tomorrow: the watch is tried again, unless the store is closed. */
  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        this.#lose(error);
        if (isIncumbentError(error, 'STORE_CLOSED')) return this.#forget(this);
      }
      if (!signal.aborted) await sleep(this.#context.clock, this.#backoff.next(), signal);
    }
  }

  /** Until the watch ends, or a read that one of its states asks for fails. */
  async #follow(): Promise<void> {
    const { store, keys } = this.#context;
    const over = (this.#over = new AbortController());
    const failed = Promise.withResolvers<never>();
    this.#fail = failed.reject;
    this.#early = [...this.#newcomers];
    const stop = onAbort(this.#closed.signal, () => over.abort());
    const options = { signal: over.signal, onStale: (cause: unknown) => this.#lose(cause) };
    const watching = follow(store.watch(keys.leader, options), (entry) => this.#see(entry), failed.reject);
    try {
      await Promise.race([watching, failed.promise]);
    } finally {
      over.abort();
      this.#look.abort();
      stop();
      await watching;
    }
  }

  /** A newer state ends the reads for the one before; and so does the watch's going stale: what came of them then would not be known to hold. */
  #see(entry: Entry | undefined): void {
    this.#told += 1;
    this.#look.abort();
    const { signal } = (this.#look = new AbortController());
    this.#eye.see(entry, signal).then(
      (sight) => (signal.aborted ? undefined : this.#show(sight, this.#early)),
      (error: unknown) => (signal.aborted ? undefined : this.#fail(error)),
    );
  }

  /** For those who have come since: one read for all who come in one turn. While the watch can vouch for nothing, they wait for it, as all do. */
  async #lookAgain(): Promise<void> {
    if (this.#isLookingAgain) return;
    this.#isLookingAgain = true;
    const { signal } = this.#over;
    const isSure = (): boolean => this.#seen !== undefined && this.#lost === undefined && !signal.aborted;
    try {
      // More may come in this turn.
      await Promise.resolve();
      while (this.#newcomers.size > 0 && isSure()) {
        const [newcomers, told] = [[...this.#newcomers], this.#told];
        const sight = await this.#eye.see(await this.#eye.leader(signal), signal);
        // What the watch has told meanwhile may be newer.
        if (told !== this.#told) continue;
        this.#look.abort();
        this.#show(sight, newcomers);
      }
    } catch (error) {
      if (isSure()) this.#fail(error);
    } finally {
      this.#isLookingAgain = false;
    }
  }

  /** `served`: those for whom it is no older than their coming. */
  #show(sight: Sight, served: readonly Witness[]): void {
    const isNews = this.#lost !== undefined || this.#seen === undefined || !isSameSight(sight, this.#seen);
    this.#eye.keep(sight);
    this.#backoff.reset();
    this.#seen = sight;
    this.#lost = undefined;
    const first = served.filter((witness) => this.#newcomers.delete(witness));
    for (const witness of isNews ? [...this.#witnesses] : first) {
      // One that is told may end another.
      if (this.#witnesses.has(witness) && !this.#newcomers.has(witness)) witness.saw(sight);
    }
    if (this.#newcomers.size > 0) void this.#lookAgain();
  }

  #lose(cause: unknown): void {
    this.#told += 1;
    this.#look.abort();
    if (this.#closed.signal.aborted) return;
    this.#lost = { cause };
    for (const witness of [...this.#witnesses]) if (this.#witnesses.has(witness)) witness.lost(cause);
  }
}
