import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { freePort, listen, LOOPBACK } from '../../ports.ts';
import { stores } from '../stores.ts';
import type { OwnServer } from '../types.ts';
import { isBrokerRequest, type BrokerAnswer, type BrokerRequest } from './messages.ts';

/**
 * Holds the servers that all test processes of one run share. Starts each when it is first
 * requested.
 */
export class Broker {
  readonly url: string;
  readonly #server: Server;
  readonly #stores = new Map<string, Promise<OwnServer>>();

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<Broker> {
    const server = createServer();
    const port = await freePort();
    await listen(server, port);
    return new Broker(`http://${LOOPBACK}:${port}/`, server);
  }

  /** Also stops the servers. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await Promise.all([...this.#stores.values()].map(stopStarted));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const asked: unknown = JSON.parse(await text(request));
      if (!isBrokerRequest(asked)) throw new TypeError('no such question');
      response.end(JSON.stringify(await this.#answer(asked)));
    } catch (error) {
      response.statusCode = 500;
      response.end(error instanceof Error ? error.message : String(error));
    }
  }

  async #answer({ store, version, ctl }: BrokerRequest): Promise<BrokerAnswer> {
    const key = `${store} ${version}`;
    const server = await (this.#stores.get(key) ?? this.#start(key, { store, version }));
    return { url: server.url, version: server.version, output: ctl === undefined ? '' : await server.ctl(ctl) };
  }

  #start(key: string, { store, version }: BrokerRequest): Promise<OwnServer> {
    const starting = stores[store].start({ version });
    this.#stores.set(key, starting);
    // The next request tries again.
    starting.catch(() => this.#stores.delete(key));
    return starting;
  }
}

/** A server that did not start need not be stopped, and the requester knows of the failure. */
async function stopStarted(starting: Promise<OwnServer>): Promise<void> {
  const server = await starting.catch(() => undefined);
  await server?.stop();
}
