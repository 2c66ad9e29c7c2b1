/** Frames over one byte stream: what comes in, what goes out, and how it ended. */

import { Deframer, describeError, pace, type SharedAllowance } from '@incumbent/network';

import type { Duplex } from 'node:stream';

import { ExchangeError } from './failure.ts';
import { frame, MAX_REPLY_BYTES, MAX_WELCOME_BYTES, RecordFraming } from '../protocol/frame.ts';
import { MalformedRecord } from '../protocol/jute.ts';

/** Records that may come before somebody asks for them. During a handshake a server has at most two answers to give. */
const MAX_EARLY_RECORDS = 16;

export class Channel {
  readonly #socket: Duplex;
  readonly #framing = new RecordFraming(MAX_WELCOME_BYTES);
  readonly #deframer: Deframer;
  readonly #ended = Promise.withResolvers<ExchangeError>();
  #take: ((record: Uint8Array) => void) | undefined;
  /** What has come before anybody asked for it. */
  readonly #early: Uint8Array[] = [];
  #cause: unknown;
  #over = false;

  /** What the record that is arriving takes counts against `answers`. */
  constructor(socket: Duplex, answers: SharedAllowance) {
    this.#socket = socket;
    this.#deframer = new Deframer(this.#framing, answers);
    // Stays for the socket's whole life: an error that nobody listens to would end the process.
    socket.on('error', (error: Error) => {
      this.#cause = error;
      this.#cut();
    });
    socket.on('data', (chunk: Uint8Array) => this.#push(chunk));
    socket.on('end', () => this.#cut());
    socket.on('close', () => this.#cut());
    // One that has ended already says nothing more.
    if (socket.destroyed) this.#cut();
  }

  get over(): boolean {
    return this.#over;
  }

  /** Resolves, with the reason, when it is over. */
  get ended(): Promise<ExchangeError> {
    return this.#ended.promise;
  }

  /** Hands every record to `take`, those that have come before it first. What it throws ends the channel, as `malformed`. */
  receive(take: (record: Uint8Array) => void): void {
    this.#take = take;
    for (const record of this.#early.splice(0)) this.#deliver(record);
  }

  /** The next record, and no other. Rejects with an `ExchangeError` if the channel ends before it comes. */
  next(): Promise<Uint8Array> {
    // A server may end the connection in the same moment in which it answers.
    const early = this.#early.shift();
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      void this.ended.then(reject);
      this.receive((record) => {
        this.#take = undefined;
        resolve(record);
      });
    });
  }

  /** From now on records may be as long as any answer. */
  welcome(): void {
    this.#framing.maxBytes = MAX_REPLY_BYTES;
  }

  send(record: Uint8Array): void {
    if (!this.#over) this.#socket.write(frame(record));
  }

  /** Ends it at once, for this reason. */
  destroy(reason: ExchangeError): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket.destroy();
    this.#deframer.close();
    this.#ended.resolve(reason);
  }

  #cut(): void {
    const reason = this.#cause === undefined ? 'the server ended the connection' : describeError(this.#cause);
    this.destroy(new ExchangeError({ kind: 'cut' }, reason, this.#cause));
  }

  #push(chunk: Uint8Array): void {
    if (this.#over) return;
    pace(this.#socket, chunk);
    try {
      for (const record of this.#deframer.push(chunk)) this.#deliver(record);
    } catch (error) {
      this.#malformed(error);
    }
  }

  #deliver(record: Uint8Array): void {
    if (this.#over) return;
    try {
      if (this.#take === undefined) return this.#keep(record);
      this.#take(record);
    } catch (error) {
      this.#malformed(error);
    }
  }

  #keep(record: Uint8Array): void {
    if (this.#early.length === MAX_EARLY_RECORDS) throw new MalformedRecord('more records came than were asked for');
    this.#early.push(record);
  }

  #malformed(error: unknown): void {
    this.destroy(new ExchangeError({ kind: 'malformed' }, `what the server sent cannot be understood: ${describeError(error)}`, error));
  }
}
