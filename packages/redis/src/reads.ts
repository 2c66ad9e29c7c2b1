/** Reads that are asked for at the same time, in one request. */

import type { Clock, Entry, Key } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { Attempt, type AttemptOptions } from '@incumbent/network';

import { tooLarge } from './errors.ts';
import { listOf, rowOf, type Row } from './namespace.ts';
import { look } from './scripts/reads.ts';
import { run } from './scripts/script.ts';
import type { Client } from './client/client.ts';
import type { Connection } from './client/connection.ts';
import { callOver, ExchangeError } from './client/failure.ts';

/** What is looked at: one key, or the keys under a prefix. */
export type Look =
  | { readonly key: Key }
  | {
      readonly prefix: Key;
      readonly before?: Entry | undefined;
      readonly first?: number | undefined;
      readonly last?: number | undefined;
      readonly values?: boolean | undefined;
    };

/** A server runs one script at a time: this many looks are one. */
const MOST_AT_ONCE = 64;

/** The rows of each look, in order. Rejects with an `ExchangeError`, or `TOO_LARGE`. */
export async function lookAt(connection: Connection, names: Names, looks: readonly Look[]): Promise<readonly (readonly Row[])[]> {
  const answers = await run(connection, look, names.tag, [names.channel, ...looks.flatMap(wordsOf)]);
  if (answers instanceof Uint8Array) throw tooLarge('more than 16 MiB were asked for at once');
  return listOf(answers).map((answer) =>
    listOf(answer).flatMap((reply) => {
      const row = rowOf(reply);
      return row === undefined ? [] : [row];
    }),
  );
}

export interface Names {
  readonly tag: string;
  readonly channel: string;
}

interface Asked {
  readonly look: Look;
  readonly attempt: Attempt;
  readonly timeoutMs: number;
  readonly answer: PromiseWithResolvers<readonly Row[]>;
}

export class Looks {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #names: Names;
  #asked: Asked[] = [];

  constructor(client: Client, clock: Clock, names: Names) {
    this.#client = client;
    this.#clock = clock;
    this.#names = names;
  }

  /** Rejects with an `ExchangeError`, or with the signal's reason if that aborts. */
  async ask(what: Look, options: AttemptOptions): Promise<readonly Row[]> {
    const answer = Promise.withResolvers<readonly Row[]>();
    answer.promise.catch(() => {});
    const attempt = new Attempt(this.#clock, options, callOver);
    if (this.#asked.length === 0) queueMicrotask(() => this.#sendAll());
    this.#asked.push({ look: what, attempt, timeoutMs: options.timeoutMs, answer });
    try {
      return await attempt.wait(answer.promise);
    } finally {
      attempt.end();
    }
  }

  #sendAll(): void {
    const asked = this.#asked.filter(({ attempt }) => !attempt.signal.aborted);
    this.#asked = [];
    for (let at = 0; at < asked.length; at += MOST_AT_ONCE) void this.#send(asked.slice(at, at + MOST_AT_ONCE));
  }

  /** One after the other: it is not known which of them cannot be answered with the others. */
  async #sendEach(asked: readonly Asked[]): Promise<void> {
    for (const one of asked) if (!one.attempt.signal.aborted) await this.#send([one]);
  }

  async #send(asked: readonly Asked[]): Promise<void> {
    const timeoutMs = asked.reduce((longest, one) => Math.max(longest, one.timeoutMs), 0);
    try {
      const rows = await this.#client.call(
        async (connection) => {
          for (const { attempt } of asked) attempt.sent = true;
          const looks = asked.map(({ look: one }) => one);
          return lookAt(connection, this.#names, looks);
        },
        { timeoutMs, background: true },
      );
      for (const [index, { answer }] of asked.entries()) answer.resolve(rows[index] ?? []);
    } catch (error) {
      if (!isOfOne(error) || asked.length === 1) for (const { answer } of asked) answer.reject(error);
      else await this.#sendEach(asked);
    }
  }
}

/** What one of them may be to blame for: too much is asked for, or a key holds what no script has written. It is nobody else's concern. */
function isOfOne(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'TOO_LARGE';
  return error instanceof ExchangeError && error.failure.kind === 'malformed';
}

function wordsOf(what: Look): readonly string[] {
  if ('key' in what) return ['k', what.key, '', '', '1'];
  const { prefix, before, first, last, values = true } = what;
  const count = first ?? (last === undefined ? '' : -last);
  return ['l', prefix, before === undefined ? '' : String(before.order), String(count), values ? '1' : '0'];
}
