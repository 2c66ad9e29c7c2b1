import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { pipeline } from 'node:stream';
import { connect } from 'node:tls';

/** A door to a server with TLS, for clients without it. */
export interface Door {
  readonly url: string;
  close(): Promise<void>;
}

export async function openDoor(target: string, ca: string): Promise<Door> {
  const { hostname: host, port } = new URL(target);
  const open = new Set<Socket>();
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
    pipeline(secure, client, () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a door without a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
