/** A server that sends back what it gets, a proxy before it, and clients of the proxy. */

import { afterEach, beforeEach } from 'vitest';

import { startProxy, until, type Proxy } from '../src/index.ts';
import { EchoClient, EchoServer } from './echo.ts';

/** Long enough for loopback to carry what it will ever carry. */
export const QUIET_MS = 60;

const SOON = { everyMs: 2 };

export class ProxiedEcho implements AsyncDisposable {
  readonly server: EchoServer;
  readonly proxy: Proxy;
  readonly #clients: EchoClient[] = [];

  private constructor(server: EchoServer, proxy: Proxy) {
    this.server = server;
    this.proxy = proxy;
  }

  static async start(): Promise<ProxiedEcho> {
    const server = await EchoServer.start();
    return new ProxiedEcho(server, await startProxy({ host: '127.0.0.1', port: server.port }));
  }

  client(): EchoClient {
    const made = new EchoClient(this.proxy.port);
    this.#clients.push(made);
    return made;
  }

  /** A client that has already had an answer. */
  async greeted(): Promise<EchoClient> {
    const made = this.client();
    made.send('hello;');
    await receives(made, 'hello;');
    return made;
  }

  serverGets(text: string): Promise<boolean> {
    return until(() => this.server.received === text, { what: `${text} at the server`, ...SOON });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const made of this.#clients) made.close();
    await this.proxy.close();
    await this.server[Symbol.asyncDispose]();
  }
}

/** An echo for each test of the file. Returns the echo of the current test. */
export function useEcho(): () => ProxiedEcho {
  let echo: ProxiedEcho;
  beforeEach(async () => {
    echo = await ProxiedEcho.start();
  });
  afterEach(() => echo[Symbol.asyncDispose]());
  return () => echo;
}

export function receives(of: EchoClient, text: string): Promise<boolean> {
  return until(() => of.received === text, { what: `${text}, not ${of.received}`, ...SOON });
}

export function endsAs(of: EchoClient, state: string): Promise<boolean> {
  return until(() => of.state === state, { what: `a client in the state ${state}, not ${of.state}`, ...SOON });
}
