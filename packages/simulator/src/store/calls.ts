/**
 * One call: to the store, applied there at one instant, and back. The answer, the timeout, an
 * abort, a reset or the closing of the store ends it, whichever comes first.
 */

import { StoreError, type Cancel, type TimedCall } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import type { Connection, Link } from '../network/link.ts';
import type { SimProcess } from '../time/process.ts';
import type { SimServer } from './server.ts';
import type { RequestInfo, StoreOperation } from './shape.ts';

/** How long it takes to find that the store refuses connections, in ms. */
const REFUSED_AFTER_MS = 3;

/** Faults of single calls. */
export interface CallFaults {
  /**
   * How long the store holds a request before applying it, in ms. This may be long after its caller
   * gave up. Undefined: the store applies it at once.
   */
  holdMs(operation: StoreOperation): number | undefined;
  /** Whether the answer to this call is lost. */
  losesReply(operation: StoreOperation): boolean;
}

export interface CallsContext {
  readonly process: SimProcess;
  readonly link: Link;
  readonly server: SimServer;
  readonly faults: CallFaults;
  /** Runs a task after this many ms of world time. */
  readonly after: (delayMs: number, task: () => void) => void;
}

/** One call that is under way. */
interface Call<T> extends Pick<PromiseWithResolvers<T>, 'resolve' | 'reject'> {
  readonly info: RequestInfo;
  readonly apply: () => T;
  readonly over: Connection;
}

export class Calls {
  readonly #context: CallsContext;
  readonly #inFlight = new Set<(error: StoreError) => void>();
  #closed = false;

  constructor(context: CallsContext) {
    this.#context = context;
    const reset = (): void => this.#endAll(new StoreError('CONNECTION_LOST', 'unknown', 'the connection was reset'));
    context.link.addListener({ reset, silent: () => {}, healed: () => {} });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Runs `apply` at the store and settles with what it returned or threw. */
  async run<T>(info: RequestInfo, apply: () => T, options: TimedCall): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#closed) throw closed('notSent');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { link } = this.#context;
    const call = { info, apply, resolve, reject, over: link.connection };
    const cancels = this.#limits(call, options);
    if (link.refusing) cancels.push(this.#refused(call));
    else this.#send(call);
    try {
      return await promise;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  close(): void {
    this.#closed = true;
    this.#endAll(closed('unknown'));
  }

  #endAll(error: StoreError): void {
    for (const end of [...this.#inFlight]) end(error);
  }

  #refused<T>({ info, reject }: Call<T>): Cancel {
    const error = new StoreError('UNREACHABLE', 'notSent', `${info.operation}: the connection was refused`);
    return this.#context.process.schedule(REFUSED_AFTER_MS, () => reject(error));
  }

  /** A call that times out makes the client leave the connection. */
  #limits<T>({ info, over, reject }: Call<T>, { timeoutMs, signal }: TimedCall): Cancel[] {
    const timedOut = (): void => {
      this.#context.link.leave(over);
      reject(new StoreError('TIMEOUT', 'unknown', `${info.operation}: no answer within ${timeoutMs} ms`));
    };
    this.#inFlight.add(reject);
    return [
      () => this.#inFlight.delete(reject),
      this.#context.process.schedule(timeoutMs, timedOut),
      onAbort(signal, () => reject(signal?.reason)),
    ];
  }

  #send<T>({ info, apply, resolve, reject, over }: Call<T>): void {
    const { operation } = info;
    const { process, link, server, faults, after } = this.#context;
    const answer = (deliver: () => void): void => {
      if (!faults.losesReply(operation)) link.send({ of: 'call', direction: 'down', over, arrive: deliver });
    };
    const request = {
      info,
      owner: process.name,
      server: over.server,
      apply: () => {
        const deliver = attempt(apply, resolve, reject);
        return () => answer(deliver);
      },
      refuse: (error: StoreError) => answer(() => reject(error)),
    };
    const arrive = (): void => {
      const holdMs = faults.holdMs(operation);
      if (holdMs === undefined) server.receive(request);
      else after(holdMs, () => server.receive(request));
    };
    link.send({ of: 'call', direction: 'up', over, arrive });
  }
}

/** Applies the change now, and returns a function that later delivers the result to the caller. */
function attempt<T>(apply: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
  try {
    const value = apply();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

export function closed(outcome: 'notSent' | 'unknown'): StoreError {
  return new StoreError('STORE_CLOSED', outcome, 'the store was closed');
}
