import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { pipeline, Transform } from 'node:stream';
import { connect } from 'node:tls';

/** A door to a server with TLS, for clients without it. */
export interface Door {
  readonly url: string;
  /**
   * The next write that the server applies loses its answer, and its client sees a reset. Reads, and
   * writes that are refused, are answered as ever.
   */
  dropNextReply(): void;
  heal(): void;
  close(): Promise<void>;
}

export async function openDoor(target: string, ca: string): Promise<Door> {
  const { hostname: host, port } = new URL(target);
  const open = new Set<Socket>();
  let isDropping = false;
  const server = createServer((client) => {
    const secure = connect({ host, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
    for (const socket of [client, secure]) {
      open.add(socket);
      socket.on('error', () => {}).once('close', () => open.delete(socket));
    }
    // A reset on one side is one on the other.
    client.once('close', () => secure.destroy());
    secure.once('close', () => client.resetAndDestroy());
    pipeline(client, secure, () => {});
    let isWrite = false;
    client.on('data', (chunk: Buffer) => {
      const [method] = /^(?:GET|PUT|POST|DELETE) /.exec(chunk.toString('latin1', 0, 8)) ?? [];
      if (method !== undefined) isWrite = method !== 'GET ';
    });
    const replies = new Transform({
      transform(chunk: Buffer, _, done) {
        if (!isDropping || !isWrite || !/^HTTP\/1.1 2/.test(chunk.toString('latin1', 0, 12))) return done(null, chunk);
        isDropping = false;
        client.resetAndDestroy();
        done();
      },
    });
    pipeline(secure, replies, client, () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a door without a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    dropNextReply: () => {
      isDropping = true;
    },
    heal: () => {
      isDropping = false;
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
