import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { until } from '../src/index.ts';

const PING = -2;
const AUTH = -4;
const OPERATION = { create: 1, getData: 4, ping: 11, auth: 100 } as const;

/**
 * One session of ZooKeeper on one connection: just enough to see what a server does, and in nothing
 * related to what is tested elsewhere.
 */
export class ZookeeperSession implements Disposable {
  /** What the server grants, in ms. */
  readonly timeoutMs: number;
  readonly #socket: Socket;
  readonly #replies: Replies;

  private constructor(timeoutMs: number, socket: Socket, replies: Replies) {
    this.timeoutMs = timeoutMs;
    this.#socket = socket;
    this.#replies = replies;
  }

  static async open(url: string, timeoutMs: number): Promise<ZookeeperSession> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const replies = new Replies(socket);
    await once(socket, 'connect');
    // Version, the last zxid seen, the timeout asked for, no session yet, its password, and whether
    // a server without a quorum will do.
    socket.write(frame([int(0), long(0n), int(timeoutMs), long(0n), bytes(Buffer.alloc(16)), Buffer.from([0])]));
    const granted = await replies.next();
    return new ZookeeperSession(granted.readInt32BE(4), socket, replies);
  }

  /** The error code of the answer: 0 where it is served. */
  ping(): Promise<number> {
    return this.#ask(PING, OPERATION.ping, []);
  }

  auth(scheme: string, credentials: string): Promise<number> {
    return this.#ask(AUTH, OPERATION.auth, [int(0), bytes(scheme), bytes(credentials)]);
  }

  /** Creates a node that everyone may do everything with. */
  create(path: string): Promise<number> {
    const everyone = [int(1), int(31), bytes('world'), bytes('anyone')];
    return this.#ask(1, OPERATION.create, [bytes(path), bytes('value'), ...everyone, int(0)]);
  }

  getData(path: string): Promise<number> {
    return this.#ask(1, OPERATION.getData, [bytes(path), Buffer.from([0])]);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  async #ask(id: number, operation: number, body: readonly Buffer[]): Promise<number> {
    this.#socket.write(frame([int(id), int(operation), ...body]));
    const reply = await this.#replies.next();
    if (reply.readInt32BE(0) !== id) throw new Error('the answer is to something else');
    return reply.readInt32BE(12);
  }
}

/** What a server says, message by message. */
class Replies {
  readonly #messages: Buffer[] = [];
  #rest = Buffer.alloc(0);
  #closed = false;

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => (this.#closed = true));
  }

  async next(): Promise<Buffer> {
    const look = (): Buffer | 'closed' | undefined => this.#messages.shift() ?? (this.#closed ? 'closed' : undefined);
    const found = await until(look, { what: 'an answer of ZooKeeper', everyMs: 2 });
    if (found === 'closed') throw new Error('the server has closed the connection');
    return found;
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (let end = this.#end(); end <= this.#rest.length; end = this.#end()) {
      this.#messages.push(this.#rest.subarray(4, end));
      this.#rest = this.#rest.subarray(end);
    }
  }

  /** Where the message that has begun will end. */
  #end(): number {
    return this.#rest.length < 4 ? Infinity : 4 + this.#rest.readInt32BE(0);
  }
}

function frame(parts: readonly Buffer[]): Buffer {
  return bytes(Buffer.concat(parts));
}

function bytes(value: string | Buffer): Buffer {
  const content = Buffer.from(value);
  return Buffer.concat([int(content.length), content]);
}

function int(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function long(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer;
}
