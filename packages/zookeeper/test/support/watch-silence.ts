/**
 * A server that answers pings and nothing else on the connections that have watches, as one that is
 * cut off from its ensemble may for a while.
 */

import type { Socket } from 'node:net';

import { Deframer } from '@incumbent/network';

import { frame, RecordFraming, Xid } from '../../src/protocol/frame.ts';
import { addWatch } from '../../src/protocol/watches.ts';

const MAX_BYTES = 1_000_000;

export class WatchSilence {
  readonly #taps = new Set<Tap>();

  /** From now on; before anything is written to the socket. */
  listen(socket: Socket): void {
    const tap = new Tap(socket);
    this.#taps.add(tap);
    socket.once('close', () => this.#taps.delete(tap));
  }

  /** On the connections that have watches now. */
  begin(): void {
    for (const tap of this.#taps) tap.isSilent ||= tap.hasWatches;
  }

  /** Ends the connections that have lost something. */
  heal(): void {
    for (const { isSilent, socket } of this.#taps) if (isSilent) socket.destroy();
  }
}

/** Takes the bytes of one connection apart, each way. */
class Tap {
  readonly socket: Socket;
  isSilent = false;
  hasWatches = false;

  constructor(socket: Socket) {
    this.socket = socket;
    const [requests, replies] = [new Deframer(new RecordFraming(MAX_BYTES)), new Deframer(new RecordFraming(MAX_BYTES))];
    const [write, emit] = [socket.write.bind(socket), socket.emit.bind(socket)];
    socket.write = (chunk: Uint8Array | string): boolean => {
      if (typeof chunk === 'string') throw new TypeError('the protocol is binary');
      for (const record of requests.push(chunk)) {
        this.hasWatches ||= numberAt(record, 4) === addWatch.type;
        if (this.#passes(record)) write(frame(record));
      }
      return true;
    };
    socket.emit = (event: string, ...values: unknown[]): boolean => {
      const [chunk] = values;
      if (event !== 'data' || !(chunk instanceof Uint8Array)) return emit(event, ...values);
      for (const record of replies.push(chunk)) if (this.#passes(record)) emit('data', frame(record));
      return true;
    };
  }

  #passes(record: Uint8Array): boolean {
    return !this.isSilent || numberAt(record, 0) === Xid.ping;
  }
}

function numberAt(record: Uint8Array, offset: number): number | undefined {
  return record.length < offset + 4 ? undefined : new DataView(record.buffer, record.byteOffset).getInt32(offset);
}
