/**
 * A relay in front of each member's port that can partition them. It reads from the first message
 * who dials, and ends or refuses connections that cross a partition.
 */

import { createServer, connect, type Server, type Socket } from 'node:net';
import { LOOPBACK } from '@incumbent/test-support';

interface Passage {
  readonly from: string;
  readonly to: string;
  readonly sockets: readonly [Socket, Socket];
}

/** The preface, and the length of the first frame. */
const HEAD_BYTES = 12;

export class Relay implements AsyncDisposable {
  readonly #servers: Server[] = [];
  readonly #passages = new Set<Passage>();
  #sides: readonly (readonly string[])[] = [];

  /** Resolves with the port to dial instead of that one. */
  async before(memberId: string, port: number): Promise<number> {
    const server = createServer((socket) => this.#enter(socket, memberId, port));
    this.#servers.push(server);
    await new Promise<void>((resolve) => {
      server.listen({ host: LOOPBACK, port: 0 }, resolve);
    });
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
    return address.port;
  }

  /** How many connections there are between each two members, by their ids. */
  get passages(): ReadonlyMap<string, number> {
    const pairs = [...this.#passages].map(({ from, to }) => [from, to].toSorted().join(' '));
    return new Map([...Map.groupBy(pairs, String)].map(([pair, all]) => [pair, all.length]));
  }

  /** From now on, members of one side do not reach those of another. */
  part(sides: readonly (readonly string[])[]): void {
    this.#sides = sides;
    for (const { from, to, sockets } of this.#passages) if (this.#isCut(from, to)) for (const socket of sockets) socket.destroy();
  }

  heal(): void {
    this.#sides = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { sockets } of this.#passages) for (const socket of sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  #isCut(from: string, to: string): boolean {
    return this.#sides.some((side) => side.includes(from) !== side.includes(to));
  }

  #enter(socket: Socket, to: string, port: number): void {
    let bytes = Buffer.alloc(0);
    socket.setNoDelay().on('error', () => {});
    const hear = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < HEAD_BYTES || bytes.length < HEAD_BYTES + bytes.readUInt32BE(HEAD_BYTES - 4)) return;
      socket.off('data', hear).pause();
      const hello = JSON.parse(bytes.toString('utf8', HEAD_BYTES, HEAD_BYTES + bytes.readUInt32BE(HEAD_BYTES - 4))) as { from: string };
      if (this.#isCut(hello.from, to)) socket.destroy();
      else this.#pass(socket, hello.from, to, port, bytes);
    };
    socket.on('data', hear);
  }

  #pass(socket: Socket, from: string, to: string, port: number, said: Buffer): void {
    const other = connect({ host: LOOPBACK, port });
    other.setNoDelay().on('error', () => {});
    other.write(said);
    const passage: Passage = { from, to, sockets: [socket, other] };
    this.#passages.add(passage);
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      one.pipe(two);
      one.on('close', () => {
        two.destroy();
        this.#passages.delete(passage);
      });
    }
  }
}
