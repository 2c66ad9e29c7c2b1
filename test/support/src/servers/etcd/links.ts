import type { Socket } from 'node:net';

import { LOOPBACK } from '../../ports.ts';
import { FaultProxy, type Proxy } from '../../proxy.ts';
import { Links } from '../../proxy/links.ts';
import { Listener } from '../../proxy/listener.ts';
import type { Target } from '../../proxy/link.ts';

/** Enough for the head of any request of a peer. */
const HEAD_BYTES = 4_096;
const SENDER = /^x-server-from: *([0-9a-f]+)/im;

/** A connection without an id: a peer that only checks whether the server is reachable. */
const NOBODY = '';

/**
 * The proxies between the servers of an etcd. Each server has a gate, whose address the other
 * servers get. The head of a connection's first request names its server, so that every pair has a
 * proxy of its own in each direction.
 */
export class PeerLinks implements AsyncDisposable {
  readonly #gates: readonly Gate[];
  #ids: readonly string[] = [];

  private constructor(gates: readonly Gate[]) {
    this.#gates = gates;
  }

  /** For this many servers. */
  static async open(size: number): Promise<PeerLinks> {
    return new PeerLinks(await Promise.all(Array.from({ length: size }, () => Gate.open())));
  }

  portOf(server: number): number {
    return this.#gate(server).port;
  }

  /** Sets the port on which a server listens. */
  lead(server: number, port: number): void {
    this.#gate(server).lead({ host: LOOPBACK, port });
  }

  /** Sets the ids by which the servers, in their order, know each other. */
  name(ids: readonly string[]): void {
    this.#ids = ids;
  }

  cutOff(server: number): void {
    for (const way of this.#waysOf(server)) way.blackhole();
  }

  /**
   * From now on no message of one server reaches the other. etcd sends some messages in requests of
   * its own, and others in the answers to requests by which the other server has opened a stream.
   */
  cutOneWay(from: number, to: number): void {
    this.#gate(to).wayOf(this.#idOf(from)).dropRequests();
    this.#gate(from).wayOf(this.#idOf(to)).dropReplies();
  }

  slow(server: number, ms: number): void {
    for (const way of this.#waysOf(server)) way.latency(ms);
  }

  async heal(): Promise<void> {
    await Promise.all(this.#gates.flatMap(({ ways }) => ways.map((way) => way.heal())));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#gates.map((gate) => gate[Symbol.asyncDispose]()));
  }

  /** From all servers to this one, and from it to each. */
  #waysOf(server: number): readonly Proxy[] {
    const id = this.#idOf(server);
    return this.#gates.flatMap((gate, index) => (index === server ? [NOBODY, ...this.#ids] : [id]).map((from) => gate.wayOf(from)));
  }

  #idOf(server: number): string {
    const id = this.#ids[server];
    if (id === undefined) throw new RangeError(`there is no server ${server} to part from the others`);
    return id;
  }

  #gate(server: number): Gate {
    const gate = this.#gates[server];
    if (gate === undefined) throw new RangeError(`there is no server ${server}`);
    return gate;
  }
}

interface Way {
  readonly links: Links;
  readonly proxy: Proxy;
}

/** The address to which one server's peers connect. */
class Gate implements AsyncDisposable {
  #target: Target = { host: LOOPBACK, port: 0 };
  readonly #ways = new Map<string, Way>();
  #listener: Listener | undefined;

  private constructor() {}

  static async open(): Promise<Gate> {
    const gate = new Gate();
    gate.#listener = await Listener.open((socket) => void gate.#serve(socket));
    return gate;
  }

  get port(): number {
    if (this.#listener === undefined) throw new Error('the gate is not open');
    return this.#listener.port;
  }

  get ways(): readonly Proxy[] {
    return [...this.#ways.values()].map(({ proxy }) => proxy);
  }

  /** Connections that were meant for another target connect again. */
  lead(target: Target): void {
    for (const way of this.ways) way.reset();
    this.#ways.clear();
    this.#target = target;
  }

  wayOf(from: string): Proxy {
    return this.#way(from).proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener?.close();
    await Promise.all(this.ways.map((way) => way.close()));
  }

  async #serve(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    const from = await senderOf(socket);
    if (!socket.destroyed) this.#way(from).links.add(socket);
  }

  #way(from: string): Way {
    const known = this.#ways.get(from);
    if (known !== undefined) return known;
    const links = new Links(this.#target);
    // The gate's port belongs to all pairs and stays open.
    const door = { port: this.port, close: () => {}, reopen: async () => {} };
    const way = { links, proxy: new FaultProxy('tcp', links, door) };
    this.#ways.set(from, way);
    return way;
  }
}

/**
 * The id of the peer that connects. The socket is paused afterwards, and all its bytes can be read
 * again.
 */
async function senderOf(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let head = Buffer.alloc(0);
  const take = (bytes: Buffer): void => {
    head = Buffer.concat([head, bytes]);
    const found = SENDER.exec(head.toString('latin1'))?.[1];
    if (found !== undefined || head.includes('\r\n\r\n') || head.length > HEAD_BYTES) resolve(found ?? NOBODY);
  };
  const leave = (): void => resolve(NOBODY);
  socket.on('data', take).once('end', leave).once('close', leave);
  const from = await promise;
  socket.pause().off('data', take).off('end', leave).off('close', leave);
  if (head.length > 0 && !socket.destroyed) socket.unshift(head);
  return from;
}
