import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { freePort, isAddressInUse, listen } from '../ports.ts';

const ATTEMPTS = 10;
const REOPEN_EVERY_MS = 50;

/** The source of a proxy's connections. */
export interface Listening {
  readonly port: number;
  /** From this call on new connections are refused. Existing connections stay. */
  close(): void;
  /** Listens again on the same port. Waits briefly if the port is in use. */
  reopen(): Promise<void>;
}

/** A listening port that can be closed and opened again. */
export class Listener implements Listening {
  readonly port: number;
  readonly #onConnection: (socket: Socket) => void;
  #server: Server | undefined;

  private constructor(port: number, server: Server, onConnection: (socket: Socket) => void) {
    this.port = port;
    this.#server = server;
    this.#onConnection = onConnection;
  }

  static async open(onConnection: (socket: Socket) => void): Promise<Listener> {
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort();
      try {
        return new Listener(port, await serve(port, onConnection), onConnection);
      } catch (error) {
        if (attempt === ATTEMPTS || !isAddressInUse(error)) throw error;
      }
    }
  }

  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  async reopen(): Promise<void> {
    for (let attempt = 1; this.#server === undefined; attempt += 1) {
      try {
        this.#server = await serve(this.port, this.#onConnection);
      } catch (error) {
        if (attempt === ATTEMPTS || !isAddressInUse(error)) throw error;
        // Another process may be checking at this moment whether the port is free.
        await sleep(REOPEN_EVERY_MS);
      }
    }
  }
}

async function serve(port: number, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, onConnection);
  await listen(server, port);
  // A failure to accept one connection affects only its client.
  server.on('error', () => {});
  return server;
}
