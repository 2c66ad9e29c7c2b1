import { createServer, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

import { freePort, LOOPBACK } from '../src/index.ts';
import { listen } from '../src/ports.ts';

/** A server that sends back what it gets, and remembers it. */
export class EchoServer implements AsyncDisposable {
  readonly port: number;
  received = '';
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(port: number, server: Server, sockets: Set<Socket>) {
    this.port = port;
    this.#server = server;
    this.#sockets = sockets;
  }

  static async start(): Promise<EchoServer> {
    const sockets = new Set<Socket>();
    const server = createServer();
    const port = await freePort();
    await listen(server, port);
    const echo = new EchoServer(port, server, sockets);
    server.on('connection', (socket) => echo.#serve(socket));
    return echo;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.resetAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString();
      socket.write(bytes);
    });
  }
}

/** A client that remembers what came back, and how its connection ended. */
export class EchoClient {
  received = '';
  /** 'open', 'ended' by the other side in order, or the code of an error. */
  state = 'open';
  readonly #socket: Socket;

  constructor(port: number) {
    this.#socket = connect({ host: LOOPBACK, port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => (this.received += bytes.toString()));
    this.#socket.on('end', () => (this.state = 'ended'));
    this.#socket.on('error', (error: NodeJS.ErrnoException) => (this.state = error.code ?? error.message));
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  /** Says that it sends no more, and keeps listening. */
  end(): void {
    this.#socket.end();
  }

  stopReading(): void {
    this.#socket.pause();
  }

  close(): void {
    this.#socket.destroy();
  }
}
