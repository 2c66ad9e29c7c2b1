import { once } from 'node:events';
import type { Socket } from 'node:net';

import { LOOPBACK } from '../ports.ts';
import { FaultProxy, type Proxy } from '../proxy.ts';
import { connectTo, type Target } from './link.ts';
import { Links } from './links.ts';
import { Listener, type Listening } from './listener.ts';

/** The target of one port that clients may connect to. */
interface Destination {
  readonly target: Target;
  readonly links: Links;
  readonly door: Door;
}

/**
 * A SOCKS 5 server, for programs that cannot use other proxies because they tell each other their
 * addresses. Each port of the loopback address that clients may use has a {@link Proxy} of its own,
 * with all its faults. Other ports are refused.
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

  /** Permits connections to a port, and returns the proxy in between. */
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

/** Replaces a listener. */
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
 * An established connection, or undefined. The gate must report that nothing listens on the port,
 * because clients treat a connection that is then reset differently.
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
/** The length of a request with an IPv4 address. */
const REQUEST_BYTES = 10;
const SUCCEEDED = 0;
const REFUSED = 5;

function answer(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

/**
 * Resolves with the requested port. Undefined for anything but a request to connect to a port of an
 * IPv4 address. The socket is paused afterwards.
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
      // A client sends nothing more before it is answered.
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
