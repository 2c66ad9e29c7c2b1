/**
 * Linearizable reads. What one caller asks for in one turn of the event loop is one request, a transaction that only reads: so a look at an election costs one,
 * and shows one revision of the store.
 */

import type { CallOptions } from '@incumbent/core';
import { isIncumbentError, StoreError, systemClock } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { range, type RangeAnswer, type RangeRequest, txn } from './protocol/kv.ts';

/** Far below the server's default for `--max-txn-ops`. */
const MAX_TOGETHER = 16;

interface Asked {
  readonly request: RangeRequest;
  readonly answer: PromiseWithResolvers<RangeAnswer>;
}

/** Asked for with the same time and the same signal: so they may end together. */
interface Turn {
  readonly options: CallOptions;
  readonly asked: Asked[];
}

export class Reads {
  readonly #client: Client;
  #turns: Turn[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  range(request: RangeRequest, options: CallOptions): Promise<RangeAnswer> {
    const answer = Promise.withResolvers<RangeAnswer>();
    this.#turnOf(options).asked.push({ request, answer });
    return answer.promise;
  }

  #turnOf(options: CallOptions): Turn {
    const { timeoutMs, signal } = options;
    const open = this.#turns.find(
      (turn) => turn.asked.length < MAX_TOGETHER && turn.options.timeoutMs === timeoutMs && turn.options.signal === signal,
    );
    if (open !== undefined) return open;
    if (this.#turns.length === 0) queueMicrotask(() => this.#send());
    const turn: Turn = { options, asked: [] };
    this.#turns.push(turn);
    return turn;
  }

  #send(): void {
    const turns = this.#turns;
    this.#turns = [];
    for (const { options, asked } of turns) {
      const [first, ...others] = asked;
      if (first !== undefined && others.length === 0) void this.#alone(first, options);
      else void this.#together(asked, options);
    }
  }

  async #alone({ request, answer }: Asked, options: CallOptions): Promise<void> {
    await this.#client.call(range, request, options).then(answer.resolve, answer.reject);
  }

  async #together(asked: readonly Asked[], options: CallOptions): Promise<void> {
    const endsAtMs = systemClock.monotonic() + options.timeoutMs;
    const success = asked.map(({ request }) => ({ range: request }));
    try {
      const { ranges } = await this.#client.call(txn, { compare: [], success, failure: [] }, options);
      for (const [index, { answer }] of asked.entries()) answer.resolve(ranges[index] ?? missing());
    } catch (error) {
      const timeoutMs = endsAtMs - systemClock.monotonic();
      const apart = isOfTheWhole(error) && timeoutMs > 0;
      for (const one of asked) {
        if (apart) void this.#alone(one, { ...options, timeoutMs });
        else one.answer.reject(error);
      }
    }
  }
}

/** What may not be read concerns who asked for it, and nobody else; and a server may have been set up to take fewer at a time. */
function isOfTheWhole(error: unknown): boolean {
  return isIncumbentError(error, 'PERMISSION_DENIED') || isIncumbentError(error, 'TOO_LARGE');
}

function missing(): never {
  throw new StoreError('STORE_FAILED', 'unknown', 'etcd Txn: the answer lacks a part');
}
