/** Servers in this process, without sockets, for answers that a healthy Redis never gives. */

import { duplexPair, type Duplex } from 'node:stream';

import { ManualClock } from '@incumbent/memory';
import { type Endpoint, endpointName } from '@incumbent/network';

import { Client, type ClientOptions } from '../src/client/client.ts';
import { listedServers } from '../src/client/servers.ts';
import { Reader } from '../src/protocol/reader.ts';
import { isList, type Reply } from '../src/protocol/resp.ts';

/**
 * The answer to a request, as raw RESP. The empty string: no answer. Undefined: none, or the usual
 * one where there is one.
 */
export type Answer = (request: readonly string[], server: Peer) => string | undefined;

export const OK = '+OK\r\n';

export function hello({ server = 'redis', version = '7.0.15', role = 'master', mode = 'standalone' } = {}): string {
  return `%4\r\n${[`server`, server, 'version', version, 'role', role, 'mode', mode].map(bulk).join('')}`;
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

export function list(items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}

/** A push message. */
export function push(...words: readonly string[]): string {
  return `>${words.length}\r\n${words.map(bulk).join('')}`;
}

/** The server's end of one connection. */
export class Peer {
  readonly requests: (readonly string[])[] = [];
  readonly stream: Duplex;
  readonly #client: Duplex;

  /** `client` is the other end. */
  constructor(stream: Duplex, client: Duplex, answer: Answer) {
    this.stream = stream;
    this.#client = client;
    const reader = new Reader(({ reply }) => {
      const request = wordsOf(reply);
      this.requests.push(request);
      const text = answer(request, this);
      if (text !== undefined) this.say(text);
    });
    stream.on('error', () => {});
    stream.on('data', (chunk: Uint8Array) => reader.push(chunk));
  }

  say(text: string): void {
    if (!this.stream.destroyed) this.stream.write(text);
  }

  cut(): void {
    this.stream.destroy();
    this.#client.destroy();
  }

  /** Whether the client has ended the connection. */
  get left(): boolean {
    return this.#client.destroyed;
  }

  /** The names of the commands after the greeting. */
  get commands(): readonly string[] {
    return this.requests.map(([name = '']) => name).filter((name) => name !== 'HELLO');
  }
}

function wordsOf(reply: Reply): readonly string[] {
  return isList(reply) ? Array.from(reply, (word) => (word instanceof Uint8Array ? Buffer.from(word).toString() : '')) : [];
}

export interface FakeClientOptions extends Partial<ClientOptions> {
  /** Default: one server. */
  readonly endpoints?: readonly Endpoint[];
}

/** Every endpoint is a server with the same answers. */
export class FakeServers {
  readonly clock = new ManualClock();
  readonly peers: Peer[] = [];
  readonly dialed: string[] = [];
  /** The endpoints that refuse connections. */
  readonly refused = new Set<string>();
  readonly pushed: Reply[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  get peer(): Peer {
    const peer = this.peers.at(-1);
    if (peer === undefined) throw new Error('nobody has connected');
    return peer;
  }

  readonly connect = (endpoint: Endpoint): Duplex => {
    const name = endpointName(endpoint);
    this.dialed.push(name);
    if (this.refused.has(name)) throw Object.assign(new Error(`connect ECONNREFUSED ${name}`), { code: 'ECONNREFUSED' });
    const [near, far] = duplexPair();
    this.peers.push(
      new Peer(far, near, (request, peer) =>
        request[0] === 'HELLO' ? (this.#answer(request, peer) ?? hello()) : this.#answer(request, peer),
      ),
    );
    return near;
  };

  client({ endpoints = [{ host: 'one', port: 1 }], ...options }: FakeClientOptions = {}): Client {
    return new Client({
      clock: this.clock,
      servers: listedServers(endpoints),
      connect: this.connect,
      credentials: undefined,
      db: 0,
      dialTimeoutMs: 1_000,
      onPush: (reply) => this.pushed.push(reply),
      ...options,
    });
  }
}
