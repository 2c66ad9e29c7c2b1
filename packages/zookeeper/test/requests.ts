/** Counts what a client sends, by ZooKeeper's numbers for operations. */

import type { Socket } from 'node:net';

import { Deframer } from '../src/wire/frame.ts';
import { Reader } from '../src/wire/jute.ts';

const MAX_BYTES = 2_000_000;

const PING = 11;
const MULTI = 14;
const ADD_WATCH = 106;

/** A multi of one check of the root, its header included: a barrier, or a renewal. */
const BARRIER_BYTES = 35;

export class Requests {
  #counts = new Map<number, number>();

  listen(socket: Socket): void {
    const deframer = new Deframer(MAX_BYTES);
    const write = socket.write.bind(socket);
    let greeted = false;
    // Sessions of leases watch nothing.
    let isShared = false;
    socket.write = (chunk: Uint8Array | string, ...rest: never[]): boolean => {
      if (chunk instanceof Uint8Array) {
        for (const record of deframer.push(new Uint8Array(chunk))) {
          // The first asks for a session.
          const type = greeted ? typeOf(record) : PING;
          isShared ||= type === ADD_WATCH;
          const isRenewal = !isShared && type === MULTI && record.length === BARRIER_BYTES;
          if (type !== PING && !isRenewal) this.#count(type);
          greeted = true;
        }
      }
      return write(chunk, ...rest);
    };
  }

  reset(): void {
    this.#counts = new Map();
  }

  /** By number, pings and renewals left out. */
  get sent(): Readonly<Record<number, number>> {
    return Object.fromEntries(this.#counts);
  }

  get total(): number {
    return Object.values(this.sent).reduce((sum, count) => sum + count, 0);
  }

  #count(type: number): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }
}

function typeOf(record: Uint8Array): number {
  const reader = new Reader(record);
  reader.int();
  return reader.int();
}
