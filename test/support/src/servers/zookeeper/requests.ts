import type { Socket } from 'node:net';

/** ZooKeeper's numbers for operations. */
const OPERATION = { sync: 9, ping: 11, multi: 14, addWatch: 106 };

/** A multi of one check of the root, its header included: a barrier, or a renewal. */
const BARRIER_BYTES = 35;

/**
 * Counts the requests of a client of `@incumbent/zookeeper` on the given sockets, by ZooKeeper's
 * numbers for operations.
 */
export class ZookeeperRequests {
  readonly #counts = new Map<number, number>();

  /** Counts from now on. Call it before anything is written to the socket. */
  listen(socket: Socket): void {
    const frames = new Frames();
    const write = socket.write.bind(socket);
    let greeted = false;
    // Sessions of leases have no watches.
    let isShared = false;
    socket.write = (chunk: Uint8Array | string, ...rest: never[]): boolean => {
      if (typeof chunk === 'string') throw new TypeError('the protocol is binary');
      for (const frame of frames.push(chunk)) {
        // The first frame requests a session.
        const type = greeted ? frame.readInt32BE(4) : OPERATION.ping;
        isShared ||= type === OPERATION.addWatch;
        const isRenewal = !isShared && type === OPERATION.multi && frame.length === BARRIER_BYTES;
        if (type !== OPERATION.ping && type !== OPERATION.sync && !isRenewal) this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
        greeted = true;
      }
      return write(chunk, ...rest);
    };
  }

  reset(): void {
    this.#counts.clear();
  }

  /** By number, without pings, proofs of watches (`sync`) and renewals. */
  get sent(): Readonly<Record<number, number>> {
    return Object.fromEntries(this.#counts);
  }

  get total(): number {
    return Object.values(this.sent).reduce((sum, count) => sum + count, 0);
  }
}

/** Splits a stream into frames with a length prefix. */
class Frames {
  #rest = Buffer.alloc(0);

  *push(chunk: Uint8Array): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4 && this.#rest.length >= 4 + this.#rest.readInt32BE(0)) {
      const end = 4 + this.#rest.readInt32BE(0);
      yield this.#rest.subarray(4, end);
      this.#rest = this.#rest.subarray(end);
    }
  }
}
