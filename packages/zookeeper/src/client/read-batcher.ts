/**
 * Linearizable reads. ZooKeeper answers reads from whatever server one is connected to, which may be behind; and its `sync` is no remedy, as a leader
 * that was deposed and does not know it answers it too. So each read follows a **barrier**: a transaction that changes nothing, and that a quorum
 * has to agree to. On one connection a read that is asked for after a transaction is answered after it.
 *
 * Reads that are asked for at the same time share one barrier, and are one request. What is read **further**, once a read has been answered, needs no barrier
 * of its own: a session never sees a state older than one that it has seen, on whatever server.
 */

import type { Clock } from '@incumbent/core';
import { Attempt, type AttemptOptions } from '@incumbent/network';

import { barrier } from './calls.ts';
import { answeredWith, callOver, isCode } from '../connection/failure.ts';
import { ABSENT, multiRead, type ReadAnswer, type ReadPart } from '../protocol/multi-read.ts';
import { getChildren, getData, type Data } from '../protocol/nodes.ts';
import type { Session } from './session.ts';

/** Of the 1,048,575 bytes that servers take for a request. */
const REQUEST_BYTES = 500_000;
/** What a part has besides its path. */
const PART_BYTES = 14;

interface Asked {
  readonly part: ReadPart;
  readonly attempt: Attempt;
  readonly timeoutMs: number;
  readonly answer: PromiseWithResolvers<ReadAnswer>;
}

interface ReadsOptions {
  readonly surely: boolean;
  readonly server: Server;
}

/** What is known of the servers. */
interface Server {
  readsTogether: boolean;
}

export class Reads {
  readonly #session: Session;
  readonly #clock: Clock;
  /** Whether what is told is no older than the call; otherwise it is no older than what the session has been told last. */
  readonly #surely: boolean;
  #further: Reads | undefined;
  #asked: Asked[] = [];
  readonly #server: Server;

  constructor(session: Session, clock: Clock, { surely, server }: ReadsOptions = { surely: true, server: { readsTogether: true } }) {
    this.#session = session;
    this.#clock = clock;
    this.#surely = surely;
    this.#server = server;
  }

  /** By which it reads; another one after it may be told less. */
  get session(): bigint | undefined {
    return this.#session.identity?.id;
  }

  /** For those who have read here already, and go on from what they were told. */
  get further(): Reads {
    this.#further ??= this.#surely ? new Reads(this.#session, this.#clock, { surely: false, server: this.#server }) : this;
    return this.#further;
  }

  /** Undefined: no such node. */
  async data(path: string, options: AttemptOptions): Promise<Data | undefined> {
    const answer = checked(await this.#ask({ data: path }, options));
    return 'data' in answer ? answer.data : undefined;
  }

  /** The names of its children, in no order. Undefined: no such node. */
  async children(path: string, options: AttemptOptions): Promise<readonly string[] | undefined> {
    const answer = checked(await this.#ask({ children: path }, options));
    return 'children' in answer ? answer.children : undefined;
  }

  async #ask(part: ReadPart, options: AttemptOptions): Promise<ReadAnswer> {
    options.signal?.throwIfAborted();
    const answer = Promise.withResolvers<ReadAnswer>();
    answer.promise.catch(() => {});
    const attempt = new Attempt(this.#clock, options, callOver);
    if (this.#asked.length === 0) queueMicrotask(() => this.#send());
    this.#asked.push({ part, attempt, timeoutMs: options.timeoutMs, answer });
    try {
      return await attempt.wait(answer.promise);
    } finally {
      attempt.end();
    }
  }

  #send(): void {
    const asked = this.#asked;
    this.#asked = [];
    const timeoutMs = asked.reduce((longest, one) => Math.max(longest, one.timeoutMs), 0);
    const options = { timeoutMs, background: true };
    const isConnected = this.#session.endpoint !== undefined;
    for (const { attempt } of asked) attempt.sent = isConnected;
    const agreed = this.#surely ? barrier(this.#session, options) : Promise.resolve();
    // Both are on their way before either is answered: one round trip.
    const answers = this.#read(
      asked.map(({ part }) => part),
      options,
    );
    void this.#settle(asked, answers, agreed);
  }

  async #settle(asked: readonly Asked[], answers: Promise<readonly ReadAnswer[]>, agreed: Promise<void>): Promise<void> {
    try {
      const [read] = await Promise.all([answers, agreed]);
      for (const [index, { answer }] of asked.entries()) answer.resolve(read[index] ?? ABSENT);
    } catch (error) {
      for (const { answer } of asked) answer.reject(error);
    }
  }

  /** One request, or as many as it takes where it would be too long: all on their way at once, in order. */
  async #read(parts: readonly ReadPart[], options: AttemptOptions): Promise<readonly ReadAnswer[]> {
    return (await Promise.all(inRequests(parts).map((some) => this.#readSome(some, options)))).flat();
  }

  async #readSome(parts: readonly ReadPart[], options: AttemptOptions): Promise<readonly ReadAnswer[]> {
    if (parts.length === 1 || !this.#server.readsTogether) return Promise.all(parts.map((part) => this.#readOne(part, options)));
    try {
      return (await this.#session.request(multiRead, parts, options)).answer;
    } catch (error) {
      // A server before 3.6, which ends the connection, too: whoever asked may ask again.
      if (isCode(error, 'UNIMPLEMENTED')) this.#server.readsTogether = false;
      throw error;
    }
  }

  async #readOne(part: ReadPart, options: AttemptOptions): Promise<ReadAnswer> {
    try {
      if ('data' in part) return { data: (await this.#session.request(getData, { path: part.data }, options)).answer };
      return { children: (await this.#session.request(getChildren, { path: part.children }, options)).answer.children };
    } catch (error) {
      if (isCode(error, 'NONODE')) return ABSENT;
      throw error;
    }
  }
}

function inRequests(parts: readonly ReadPart[]): readonly (readonly ReadPart[])[] {
  const requests: ReadPart[][] = [[]];
  let bytes = 0;
  for (const part of parts) {
    const more = PART_BYTES + Buffer.byteLength('data' in part ? part.data : part.children);
    if (bytes + more > REQUEST_BYTES) {
      requests.push([]);
      bytes = 0;
    }
    requests.at(-1)?.push(part);
    bytes += more;
  }
  return requests;
}

/** What a server will not tell concerns who asked for it, and nobody else. */
function checked(answer: ReadAnswer): ReadAnswer {
  if ('code' in answer) throw answeredWith(answer.code);
  return answer;
}
