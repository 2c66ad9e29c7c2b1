import { FaultProxy, type Proxy } from '../../proxy.ts';
import { Links } from '../../proxy/links.ts';
import { Listener } from '../../proxy/listener.ts';

/**
 * Where servers behind gates listen themselves, on the ports of their gates: another of this
 * machine's own addresses.
 */
export const BEHIND = '127.0.0.2';

/**
 * What other agents reach a server through: a proxy for gossip, and one for requests. They learn of
 * its address by gossip, so it must be the one that the server gives out.
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
   * Nothing passes, and nobody is told. What the server says first, to agents that it knows, does
   * not pass here.
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

/** A proxy to its own port, at the address behind. */
async function openGate(): Promise<Proxy> {
  const opened: Links[] = [];
  const listener = await Listener.open((socket) => opened[0]?.add(socket));
  const links = new Links({ host: BEHIND, port: listener.port });
  opened.push(links);
  return new FaultProxy('tcp', links, listener);
}
