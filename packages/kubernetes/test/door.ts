import { connect as connectPlainly, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { Transform } from 'node:stream';
import { connect } from 'node:tls';

/** A door to a server, for clients without TLS. */
export interface Door {
  readonly url: string;
  /**
   * The next write that the server applies loses its answer, and its client sees a reset. Reads,
   * and writes that are refused, are answered as ever.
   */
  dropNextReply(): void;
  heal(): void;
  close(): Promise<void>;
}

/** `ca`: the authority of the server's certificate, in PEM. Absent without TLS. */
export async function openDoor(target: string, ca?: string): Promise<Door> {
  const { hostname: host, port } = new URL(target);
  const open = new Set<Socket>();
  let isDropping = false;
  const server = createServer((client) => {
    const to = { host, port: Number(port) };
    const onward = ca === undefined ? connectPlainly(to) : connect({ ...to, ca, ALPNProtocols: ['http/1.1'] });
    for (const socket of [client, onward]) {
      open.add(socket);
      socket.on('error', () => {}).once('close', () => open.delete(socket));
    }
    // A reset on one side is one on the other.
    client.once('close', () => onward.destroy());
    onward.once('close', () => client.resetAndDestroy());
    // Both ends are closed above, so `pipeline` would only add its listeners, more than Node
    // expects.
    client.pipe(onward);
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
    onward.pipe(replies).pipe(client);
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
