/** One address in front of several servers, like a service name or a load balancer. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { LOOPBACK } from './ports.ts';

export interface Balanced {
  readonly client: Socket;
  readonly server: Socket;
  /** The index of the server that the connection goes to. */
  readonly to: number;
  /** On the host's monotonic clock, in ms. */
  readonly openedAt: number;
}

/** Sends each new connection to the next server in turn, whether or not that server works. */
export class Balancer implements AsyncDisposable {
  readonly connections: Balanced[] = [];
  /** The server of the next connection. */
  next = 0;
  readonly #ports: readonly number[];
  readonly #listener = createServer((client) => this.#lead(client));

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  static async open(urls: readonly string[]): Promise<Balancer> {
    const balancer = new Balancer(urls.map((url) => Number(new URL(url).port)));
    balancer.#listener.listen(0, LOOPBACK);
    await once(balancer.#listener, 'listening');
    return balancer;
  }

  get url(): string {
    const address = this.#listener.address();
    if (address === null || typeof address === 'string') throw new Error('the balancer is not open');
    return `http://${LOOPBACK}:${address.port}`;
  }

  /** From now on nothing passes on the existing connections, and neither side is notified. */
  blackhole(): void {
    for (const { client, server } of this.connections) {
      client.unpipe(server).resume();
      server.unpipe(client).resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const { client, server } of this.connections) for (const socket of [client, server]) socket.destroy();
  }

  #lead(client: Socket): void {
    const to = this.next % this.#ports.length;
    this.next += 1;
    const server = connect({ host: LOOPBACK, port: this.#ports[to] ?? 0, noDelay: true });
    client.setNoDelay(true);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
    this.connections.push({ client, server, to, openedAt: Number(process.hrtime.bigint()) / 1e6 });
  }
}
