/** One call: there, at one instant applied, and back; ended by whatever comes first of answer, timeout, abort, reset and close. */

import { StoreError, type CallOptions, type Cancel } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import type { CallFaults, DropHow } from './call-faults.ts';
import type { Verb } from '../options.ts';
import type { Rider, Wire } from './connection.ts';

type Reject = (reason: unknown) => void;

export class Calls {
  readonly #wire: Wire;
  readonly #faults: CallFaults;
  readonly #admit: (verb: Verb) => boolean;

  /** `admit` is called before a request is applied; false: nobody is there to do it. */
  constructor(wire: Wire, faults: CallFaults, admit: (verb: Verb) => boolean) {
    this.#wire = wire;
    this.#faults = faults;
    this.#admit = admit;
  }

  /** Runs `apply` on the server and answers with what it returned or threw. */
  async run<T>(verb: Verb, apply: () => T, options: CallOptions): Promise<T> {
    options.signal?.throwIfAborted();
    const { refusal } = this.#wire;
    if (refusal !== undefined) throw refusal;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const cancels = this.#limits(verb, options, reject);
    this.#send(verb, apply, resolve, reject);
    try {
      return await promise;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  #limits(verb: Verb, { timeoutMs, signal }: CallOptions, reject: Reject): readonly Cancel[] {
    const timedOut = (): void => reject(new StoreError('TIMEOUT', 'unknown', `${verb}: no answer within ${timeoutMs} ms`));
    const rider: Rider = { cut: () => {}, silent: () => {}, healed: () => {}, reset: reject, closed: reject };
    return [this.#wire.ride(rider), this.#wire.clock.schedule(timeoutMs, timedOut), onAbort(signal, () => reject(signal?.reason))];
  }

  #send<T>(verb: Verb, apply: () => T, resolve: (value: T) => void, reject: Reject): void {
    const fate = this.#faults.requestFate(verb);
    if (fate !== undefined) return drop(verb, fate, reject);
    this.#wire.send({ kind: 'request', verb }, () => {
      this.#faults.gate(verb, () => {
        if (this.#admit(verb)) this.#answer(verb, attempt(apply, resolve, reject), reject);
      });
    });
  }

  #answer(verb: Verb, deliver: () => void, reject: Reject): void {
    const fate = this.#faults.replyFate(verb);
    if (fate !== undefined) return drop(verb, fate, reject);
    this.#wire.send({ kind: 'reply', verb }, deliver);
  }
}

/** Applies now; what it returns tells the caller, later, how that went. */
function attempt<T>(apply: () => T, resolve: (value: T) => void, reject: Reject): () => void {
  try {
    const value = apply();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

function drop(verb: Verb, how: DropHow, reject: Reject): void {
  if (how === 'reset') reject(new StoreError('CONNECTION_LOST', 'unknown', `${verb}: the connection was reset`));
}
