import { connect, type Socket } from 'node:net';

import { Flow } from './flow.ts';
import { reset } from './reset.ts';
import type { Rules } from './rules.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A connection to the target. */
export function connectTo({ host, port }: Target): Socket {
  return connect({ host, port, allowHalfOpen: true, noDelay: true });
}

/** Receives the bytes of a link before its rules are applied, and may change the rules. */
export interface LinkWatcher {
  onRequest(link: Link, bytes: number): void;
  onReply(link: Link, bytes: number): void;
}

/** One client's connection through the proxy, and its connection to the target. */
export class Link {
  readonly requests: Flow;
  readonly replies: Flow;
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  #lastRequest: Buffer = Buffer.alloc(0);

  constructor(client: Socket, server: Socket, rules: Rules, watcher: LinkWatcher) {
    this.#client = client;
    this.#server = server;
    client.setNoDelay(true);
    this.requests = new Flow(client, this.#server, (bytes) => {
      this.#lastRequest = bytes;
      watcher.onRequest(this, bytes.length);
    });
    this.replies = new Flow(this.#server, client, (bytes) => watcher.onReply(this, bytes.length));
    this.setRules(rules);
    this.closed = this.#end();
  }

  /** Whether bytes of this connection were lost, so that it can no longer work. */
  get tainted(): boolean {
    return this.requests.tainted || this.replies.tainted;
  }

  /** Whether one side of this connection is gone and the other was not notified. */
  get severed(): boolean {
    return this.requests.severed || this.replies.severed;
  }

  /** The last bytes of the client, as they arrived in one piece. */
  get lastRequest(): string {
    return this.#lastRequest.toString('latin1');
  }

  setRules(rules: Rules): void {
    this.requests.setRule(rules.requests);
    this.replies.setRule(rules.replies);
  }

  /** Resets both sides now. They see ECONNRESET. */
  reset(): void {
    reset(this.#client);
    reset(this.#server);
  }

  async #end(): Promise<void> {
    await Promise.all([closeOf(this.#client), closeOf(this.#server)]);
    this.requests.close();
    this.replies.close();
  }
}

function closeOf(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  return promise;
}
