import { connect, type Socket } from 'node:net';

import { Flow } from './flow.ts';
import { reset } from './reset.ts';
import type { Rules } from './rules.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A connection to the target, as links have them. */
export function connectTo({ host, port }: Target): Socket {
  return connect({ host, port, allowHalfOpen: true, noDelay: true });
}

/** Sees the bytes of a link before its rules do, and may change those. */
export interface LinkWatcher {
  onRequest(link: Link, bytes: number): void;
  onReply(link: Link, bytes: number): void;
}

/**
 * One client's connection through the proxy, and the connection to the target that belongs to it.
 */
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

  /** Something of this connection is lost: what runs over it can no longer be right. */
  get tainted(): boolean {
    return this.requests.tainted || this.replies.tainted;
  }

  /** One side of this connection is gone, and the other side was not told. */
  get severed(): boolean {
    return this.requests.severed || this.replies.severed;
  }

  /** What the client sent last, as it came in one piece. */
  get lastRequest(): string {
    return this.#lastRequest.toString('latin1');
  }

  setRules(rules: Rules): void {
    this.requests.setRule(rules.requests);
    this.replies.setRule(rules.replies);
  }

  /** Resets both sides now: they see ECONNRESET. */
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
