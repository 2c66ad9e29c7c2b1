import type { StoreError } from '@incumbent/core';

import { toStoreError } from './errors.ts';
import { type Pair, PairList, type Target } from './protocol/kv.ts';

/** A watch of a target, which may be a part of what the query covers. */
export interface TargetSubscriber {
  readonly target: Target;
  /** All pairs of the target now. */
  onState(pairs: readonly Pair[]): void;
  /** The last state may be out of date. A state follows when an answer has one again. */
  onStale(cause: StoreError): void;
}

/**
 * Passes the pairs of an answer to the watches that share the query, while the answer arrives. A
 * watch of one key is shown its pair at once, so that the process never holds the pairs of
 * thousands of watches, or pairs that nobody watches. A watch of a list is shown all of its pairs
 * at the end. A list that is too large makes its own watch stale, and does not affect the others.
 */
export class SharedAnswer {
  readonly #subscribers: Iterable<TargetSubscriber>;
  #receivers: Receivers | undefined;

  /** The subscribers are those at the arrival of the first pair, or at the end without pairs. */
  constructor(subscribers: Iterable<TargetSubscriber>) {
    this.#subscribers = subscribers;
  }

  take(pair: Pair): void {
    const { keys, lists } = (this.#receivers ??= receiversOf(this.#subscribers));
    for (const subscriber of keys.get(pair.path) ?? []) subscriber.onState([pair]);
    keys.delete(pair.path);
    for (const [subscriber, list] of lists) {
      if (!pair.path.startsWith(subscriber.target.path)) continue;
      try {
        list.add(pair);
      } catch (error) {
        lists.delete(subscriber);
        subscriber.onStale(toStoreError(error, 'watch'));
      }
    }
  }

  /** The answer is complete: keys without a pair are absent. */
  end(): void {
    const { keys, lists } = (this.#receivers ??= receiversOf(this.#subscribers));
    for (const subscriber of [...keys.values()].flat()) subscriber.onState([]);
    for (const [subscriber, { pairs }] of lists) subscriber.onState(pairs);
  }
}

interface Receivers {
  /** The watches of single keys that have not been shown their pair, by the path of the key. */
  readonly keys: Map<string, TargetSubscriber[]>;
  /** The watches of lists that are not too large so far. */
  readonly lists: Map<TargetSubscriber, PairList>;
}

function receiversOf(subscribers: Iterable<TargetSubscriber>): Receivers {
  const keys = new Map<string, TargetSubscriber[]>();
  const lists = new Map<TargetSubscriber, PairList>();
  for (const subscriber of subscribers) {
    const { path, recurse } = subscriber.target;
    const same = keys.get(path);
    if (recurse) lists.set(subscriber, new PairList());
    else if (same === undefined) keys.set(path, [subscriber]);
    else same.push(subscriber);
  }
  return { keys, lists };
}
