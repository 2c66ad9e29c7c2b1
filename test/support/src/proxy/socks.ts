import { once } from 'node:events';
import type { Socket } from 'node:net';

import { LOOPBACK } from '../ports.ts';
import { FaultProxy, type Proxy } from '../proxy.ts';
import { connectTo, type Target } from './link.ts';
import { Links } from './links.ts';
import { Listener, type Listening } from './listener.ts';

/** What lies behind one port that clients may ask for. */
interface Destination {
  readonly target: Target;
  readonly links: Links;
  readonly door: Door;
}

/**
 * A SOCKS 5 server: for programs whose connections cannot be led through proxies otherwise, because
 * they tell one another their addresses. Each port of the loopback address that clients may ask for
 * has a {@link Proxy} of its own, with all its faults; others are refused.
 */
export class SocksGate implements AsyncDisposable {
  readonly #destinations = new Map<number, Destination>();
  readonly #proxies: Proxy[] = [];
  #listener: Listener | undefined;

  private constructor() {}

  static async open(): Promise<SocksGate> {
    const gate = new SocksGate();
    gate.#listener = await Listener.open((socket) => void gate.#serve(socket));
    return gate;
  }

  get port(): number {
    if (this.#listener === undefined) throw new Error('the gate is not open');
    return this.#listener.port;
  }

  /** Lets clients through to a port, and gives the proxy that is then between. */
  proxyTo(port: number): Proxy {
    const target = { host: LOOPBACK, port };
    const destination = { target, links: new Links(target), door: new Door(this.port) };
    const proxy = new FaultProxy('tcp', destination.links, destination.door);
    this.#destinations.set(port, destination);
    this.#proxies.push(proxy);
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener?.close();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  async #serve(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    const destination = this.#destinations.get((await askedPort(socket)) ?? 0);
    const server = destination?.door.open === true ? await connected(destination.target) : undefined;
    if (destination === undefined || server === undefined) {
      socket.end(answer(REFUSED)).resume();
    } else if (socket.destroyed) {
      server.destroy();
    } else {
      socket.write(answer(SUCCEEDED));
      destination.links.add(socket, server);
    }
  }
}

/** Stands for a listener of its own. */
class Door implements Listening {
  readonly port: number;
  open = true;

  constructor(port: number) {
    this.port = port;
  }

  close(): void {
    this.open = false;
  }

  async reopen(): Promise<void> {
    this.open = true;
  }
}

/**
 * A connection that stands, or undefined. A client must learn from the gate that nobody listens
 * there: to be connected and then reset is something else to it.
 */
async function connected(target: Target): Promise<Socket | undefined> {
  const server = connectTo(target);
  return once(server, 'connect').then(
    () => server,
    () => undefined,
  );
}

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
/** With an address of IPv4. */
const REQUEST_BYTES = 10;
const SUCCEEDED = 0;
const REFUSED = 5;

function answer(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

/**
 * Resolves with undefined for whatever is not a wish to be connected with a port of an IPv4
 * address. The socket is paused then.
 */
function askedPort(socket: Socket): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  let heard = Buffer.alloc(0);
  let greeted = false;
  const take = (bytes: Buffer): void => {
    heard = Buffer.concat([heard, bytes]);
    if (heard[0] !== VERSION) resolve(undefined);
    else if (greeted && heard.length >= REQUEST_BYTES) resolve(portIn(heard));
    else if (!greeted && heard.length >= 2 + (heard[1] ?? Infinity)) {
      // A client says no more before it is answered.
      heard = Buffer.alloc(0);
      greeted = true;
      socket.write(Buffer.from([VERSION, NO_AUTHENTICATION]));
    }
  };
  const leave = (): void => resolve(undefined);
  socket.on('data', take).once('end', leave).once('close', leave);
  return promise.finally(() => socket.pause().off('data', take).off('end', leave).off('close', leave));
}

function portIn(request: Buffer): number | undefined {
  return request[1] === CONNECT && request[3] === IPV4 ? request.readUInt16BE(8) : undefined;
}
