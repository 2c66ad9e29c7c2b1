/** Counts what a client sends, by ZooKeeper's numbers for operations. */

import type { Socket } from 'node:net';

import { Deframer } from '../src/wire/frame.ts';
import { Reader } from '../src/wire/jute.ts';

const MAX_BYTES = 2_000_000;

/** What keeps sessions alive. */
const UPKEEP: ReadonlySet<number> = new Set([9, 11]);

export class Requests {
  #counts = new Map<number, number>();

  listen(socket: Socket): void {
    const deframer = new Deframer(MAX_BYTES);
    const write = socket.write.bind(socket);
    let greeted = false;
    socket.write = (chunk: Uint8Array | string, ...rest: never[]): boolean => {
      if (chunk instanceof Uint8Array) {
        for (const record of deframer.push(new Uint8Array(chunk))) {
          // The first asks for a session.
          if (greeted) this.#count(record);
          greeted = true;
        }
      }
      return write(chunk, ...rest);
    };
  }

  reset(): void {
    this.#counts = new Map();
  }

  /** By number, upkeep left out. */
  get sent(): Readonly<Record<number, number>> {
    return Object.fromEntries([...this.#counts].filter(([type]) => !UPKEEP.has(type)));
  }

  get total(): number {
    return Object.values(this.sent).reduce((sum, count) => sum + count, 0);
  }

  #count(record: Uint8Array): void {
    const reader = new Reader(record);
    reader.int();
    const type = reader.int();
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }
}
