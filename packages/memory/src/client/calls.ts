/**
 * Sends a request to the server, applies it there at one instant, and sends the reply back. A call
 * ends with the first of reply, timeout, abort, reset and close.
 */

import type { Cancel, TimedCall } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { connectionReset, timedOut } from '../errors.ts';
import type { Operation } from '../options.ts';
import type { CallFaults, DropHow } from './call-faults.ts';
import type { Connection, ConnectionListener } from './connection.ts';

type Reject = (reason: unknown) => void;

export class Calls {
  readonly #connection: Connection;
  readonly #faults: CallFaults;
  readonly #admit: (operation: Operation) => boolean;

  /**
   * `admit` is called before a request is applied. False: the server is closed, and never replies.
   */
  constructor(connection: Connection, faults: CallFaults, admit: (operation: Operation) => boolean) {
    this.#connection = connection;
    this.#faults = faults;
    this.#admit = admit;
  }

  /** Runs `apply` on the server, and returns or throws what `apply` did. */
  async run<T>(operation: Operation, apply: () => T, options: TimedCall): Promise<T> {
    options.signal?.throwIfAborted();
    const { refusal } = this.#connection;
    if (refusal !== undefined) throw refusal;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const cancels = this.#rejectEarly(operation, options, reject);
    this.#send(operation, apply, resolve, reject);
    try {
      return await promise;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  #rejectEarly(operation: Operation, { timeoutMs, signal }: TimedCall, reject: Reject): readonly Cancel[] {
    const onTimeout = (): void => reject(timedOut(operation, timeoutMs));
    const listener: ConnectionListener = { cut: () => {}, silent: () => {}, healed: () => {}, reset: reject, closed: reject };
    this.#connection.subscribe(listener);
    return [
      () => this.#connection.unsubscribe(listener),
      this.#connection.clock.schedule(timeoutMs, onTimeout),
      onAbort(signal, () => reject(signal?.reason)),
    ];
  }

  #send<T>(operation: Operation, apply: () => T, resolve: (value: T) => void, reject: Reject): void {
    const drop = this.#faults.dropOfRequest(operation);
    if (drop !== undefined) return dropped(operation, drop, reject);
    this.#connection.send({ kind: 'request', operation }, () => {
      this.#faults.applyOrHold(operation, () => {
        if (this.#admit(operation)) this.#reply(operation, resultOf(apply, resolve, reject), reject);
      });
    });
  }

  #reply(operation: Operation, deliver: () => void, reject: Reject): void {
    const drop = this.#faults.dropOfReply(operation);
    if (drop !== undefined) return dropped(operation, drop, reject);
    this.#connection.send({ kind: 'reply', operation }, deliver);
  }
}

/** Applies the request now, and returns a function that gives the result to the caller. */
function resultOf<T>(apply: () => T, resolve: (value: T) => void, reject: Reject): () => void {
  try {
    const value = apply();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

function dropped(operation: Operation, how: DropHow, reject: Reject): void {
  if (how === 'reset') reject(connectionReset(operation));
}
