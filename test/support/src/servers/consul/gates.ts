import { FaultProxy, type Proxy } from '../../proxy.ts';
import { Links } from '../../proxy/links.ts';
import { Listener } from '../../proxy/listener.ts';

/**
 * The address at which servers behind gates listen, on the ports of their gates: another loopback
 * address.
 */
export const BEHIND = '127.0.0.2';

/**
 * The proxies through which other agents reach a server: one for gossip and one for requests.
 * Agents learn its address by gossip, so the server must advertise the address of the gates.
 */
export class Gates implements AsyncDisposable {
  readonly serf: number;
  readonly rpc: number;
  readonly #proxies: readonly Proxy[];

  private constructor(serf: Proxy, rpc: Proxy) {
    this.serf = serf.port;
    this.rpc = rpc.port;
    this.#proxies = [serf, rpc];
  }

  static async open(): Promise<Gates> {
    return new Gates(await openGate(), await openGate());
  }

  /**
   * Nothing passes, and neither side is notified. Connections that the server opens to agents that
   * it knows do not use these gates.
   */
  cut(): void {
    for (const proxy of this.#proxies) proxy.blackhole();
  }

  async heal(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.heal()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }
}

/** A proxy to the same port at the address `BEHIND`. */
async function openGate(): Promise<Proxy> {
  const opened: Links[] = [];
  const listener = await Listener.open((socket) => opened[0]?.add(socket));
  const links = new Links({ host: BEHIND, port: listener.port });
  opened.push(links);
  return new FaultProxy('tcp', links, listener);
}
