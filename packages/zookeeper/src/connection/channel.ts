/** Records over one byte stream: received, sent, and how the stream ended. */

import type { Duplex } from 'node:stream';

import { Deframer, describeError, free, pace, type SharedAllowance } from '@incumbent/network';

import { ExchangeError } from '../errors.ts';
import { frame, MAX_REPLY_BYTES, MAX_WELCOME_BYTES, RecordFraming } from '../protocol/frame.ts';
import { MalformedRecord } from '../protocol/jute.ts';

/** Records that may arrive before a receiver is set. A server sends at most two in a handshake. */
const MAX_EARLY_RECORDS = 16;

/** Takes what arrives on a channel. An error that it throws ends the channel, as `malformed`. */
export interface Receiver {
  record(record: Uint8Array): void;
  /** More bytes of a record arrived, and the record is not complete. */
  partial?(): void;
}

export class Channel {
  readonly #socket: Duplex;
  readonly #framing = new RecordFraming(MAX_WELCOME_BYTES);
  readonly #deframer: Deframer;
  readonly #ended = Promise.withResolvers<ExchangeError>();
  #receiver: Receiver | undefined;
  /** Records that arrived before a receiver was set. */
  readonly #early: Uint8Array[] = [];
  /** The bytes of the record that is arriving. */
  #partialBytes = 0;
  #cause: unknown;
  #over = false;

  /** The record that is arriving counts against `answers`. */
  constructor(socket: Duplex, answers: SharedAllowance) {
    this.#socket = socket;
    this.#deframer = new Deframer(this.#framing, answers);
    // Stays for the life of the socket: an error event without a listener would end the process.
    socket.on('error', (error: Error) => {
      this.#cause = error;
      this.#cut();
    });
    socket.on('data', (chunk: Uint8Array) => this.#push(chunk));
    socket.on('end', () => this.#cut());
    socket.on('close', () => this.#cut());
    // A socket that was destroyed before emits no more events.
    if (socket.destroyed) this.#cut();
  }

  get over(): boolean {
    return this.#over;
  }

  /** Resolves with the reason when the channel ends. */
  get ended(): Promise<ExchangeError> {
    return this.#ended.promise;
  }

  /** Passes every record to `receiver`, beginning with those that arrived before this call. */
  receive(receiver: Receiver): void {
    this.#receiver = receiver;
    for (const record of this.#early.splice(0)) this.#deliver(record);
  }

  /**
   * The next record alone. Rejects with an `ExchangeError` if the channel ends before it arrives.
   */
  next(): Promise<Uint8Array> {
    // A server may answer and close the connection at the same moment.
    const early = this.#early.shift();
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      void this.ended.then(reject);
      this.receive({
        record: (record) => {
          this.#receiver = undefined;
          resolve(record);
        },
      });
    });
  }

  /** Accepts records as long as any answer from now on. Until then they may have 256 bytes. */
  acceptLongRecords(): void {
    this.#framing.maxBytes = MAX_REPLY_BYTES;
  }

  send(record: Uint8Array): void {
    if (!this.#over) this.#socket.write(frame(record));
  }

  /** Ends the channel at once with this reason. Idempotent: the first reason counts. */
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
    this.#partialBytes += chunk.length;
    try {
      for (const record of this.#deframer.push(chunk)) {
        this.#partialBytes -= this.#framing.headerBytes + record.length;
        this.#deliver(record);
      }
      if (this.#partialBytes > 0) this.#receiver?.partial?.();
    } catch (error) {
      this.#malformed(error);
    }
  }

  #deliver(record: Uint8Array): void {
    if (this.#over) return;
    try {
      if (this.#receiver === undefined) return this.#keep(record);
      this.#receiver.record(record);
    } catch (error) {
      this.#malformed(error);
      // A hostile server sends long records faster than the garbage collector finds them.
      free(record);
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
