/**
 * Many requests at a time, over connections that are kept. undici carries them: it sends none twice, and says when a request goes out, so that what was
 * never sent is told from what nobody knows.
 */

import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { type Attempt, endpointName } from '@incumbent/network';
import { Pool, type Dispatcher } from 'undici';

import type { Answer, Carrier, Outgoing } from './carrier.ts';
import { Dialler, type DialOptions } from './dialler.ts';
import { ExchangeError } from './failure.ts';

/** How long ends of sockets are waited for at close. */
const CLOSE_MS = 1_000;

/** An idle connection is ended after so long, before whatever lies on its way forgets it. */
const IDLE_MS = 30_000;

export class Pooled implements Carrier {
  readonly #clock: Clock;
  readonly #dialler: Dialler;
  readonly #pool: Pool;

  constructor(options: DialOptions) {
    this.#clock = options.clock;
    this.#dialler = new Dialler(options);
    this.#pool = new Pool(`http://${endpointName(options.endpoint)}`, {
      // As many as there are calls at a time: none waits for another.
      connections: null,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, done) => void this.#connect(done),
    });
  }

  carry({ method, path, headers, body }: Outgoing, attempt: Attempt): Promise<Answer> {
    const exchange = new Exchange(attempt);
    this.#pool.dispatch({ method, path, headers, ...(body === undefined ? {} : { body }) }, exchange);
    return exchange.answer;
  }

  async close(): Promise<void> {
    this.#dialler.close();
    const over = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(CLOSE_MS, over.resolve);
    await Promise.race([this.#pool.destroy().catch(() => {}), over.promise]);
    cancel();
  }

  async #connect(done: (...result: [null, Socket] | [Error, null]) => void): Promise<void> {
    try {
      done(null, await this.#dialler.dial());
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), null);
    }
  }
}

/** One request under way, as undici tells of it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #attempt: Attempt;
  readonly #answer = Promise.withResolvers<Answer>();
  readonly #chunks: Buffer[] = [];
  readonly #onOver = (): void => this.#give();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    attempt.signal.addEventListener('abort', this.#onOver, { once: true });
    if (attempt.signal.aborted) this.#give();
  }

  get answer(): Promise<Answer> {
    return this.#answer.promise;
  }

  /** From here on the request goes out, if it is not aborted here. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#attempt.signal.aborted) controller.abort(new Error('the call is over'));
    else this.#attempt.sent = true;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#settle();
    const headers = this.#headers;
    const header = (name: string): string | undefined => [headers[name]].flat()[0];
    this.#answer.resolve({ status: this.#status, text: Buffer.concat(this.#chunks).toString(), header });
  }

  onResponseError(_: unknown, error: Error): void {
    this.#settle();
    const kind = this.#attempt.sent ? 'cut' : 'notConnected';
    this.#answer.reject(new ExchangeError({ kind }, error.message, error));
  }

  #give(): void {
    this.#settle();
    this.#answer.reject(this.#attempt.signal.reason);
    this.#controller?.abort(new Error('the call is over'));
  }

  #settle(): void {
    this.#attempt.signal.removeEventListener('abort', this.#onOver);
  }
}
