import type { Proxy } from '../../proxy.ts';
import { SocksGate } from '../../proxy/socks.ts';
import type { ServerPlan } from './plan.ts';

/** The path from one server to another. */
interface Way {
  readonly from: number;
  readonly to: number;
  readonly proxy: Proxy;
}

/**
 * The proxies between the servers of a cluster. Each server has a SOCKS gate for all its outgoing
 * connections. A proxy at each port is not enough, because a server tells the others its election
 * port, and these then connect to it directly.
 */
export class QuorumLinks implements AsyncDisposable {
  /** The links of a single server. */
  static readonly NONE: QuorumLinks = new QuorumLinks([], []);

  readonly #gates: readonly SocksGate[];
  readonly #ways: readonly Way[];

  private constructor(gates: readonly SocksGate[], ways: readonly Way[]) {
    this.#gates = gates;
    this.#ways = ways;
  }

  static async open(servers: readonly ServerPlan[]): Promise<QuorumLinks> {
    const gates = await Promise.all(servers.map(() => SocksGate.open()));
    const ways = gates.flatMap((gate, from) =>
      servers.flatMap(({ quorum, election }, to) =>
        from === to ? [] : [quorum, election].map((port) => ({ from, to, proxy: gate.proxyTo(port) })),
      ),
    );
    return new QuorumLinks(gates, ways);
  }

  /** The port of a server's gate. */
  gateOf(server: number): number | undefined {
    return this.#gates[server]?.port;
  }

  cut(one: number, other: number): void {
    this.#blackhole(({ from, to }) => (from === one && to === other) || (from === other && to === one));
  }

  cutOff(server: number): void {
    this.#blackhole(({ from, to }) => from === server || to === server);
  }

  slow(server: number, ms: number): void {
    for (const { proxy } of this.#waysWhere(({ from, to }) => from === server || to === server)) proxy.latency(ms);
  }

  async heal(): Promise<void> {
    await Promise.all(this.#ways.map(({ proxy }) => proxy.heal()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#gates.map((gate) => gate[Symbol.asyncDispose]()));
  }

  #blackhole(cut: (way: Way) => boolean): void {
    for (const { proxy } of this.#waysWhere(cut)) proxy.blackhole();
  }

  #waysWhere(isMeant: (way: Way) => boolean): readonly Way[] {
    const ways = this.#ways.filter(isMeant);
    if (ways.length === 0) throw new RangeError('there are no such servers to part from one another');
    return ways;
  }
}
