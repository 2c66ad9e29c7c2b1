/** Listening servers of a test file. */

import type { Server, Socket } from 'node:net';
import { afterEach } from 'vitest';

import { listenAnywhere, type Address } from './ports.ts';

export interface TestSockets {
  readonly servers: Server[];
  /** The servers' ends of the connections. */
  readonly sockets: Socket[];
  /** Makes a server listen on the loopback address until the test ends. */
  listen(server: Server): Promise<Address>;
}

/** To be called once in a test file. Closes the servers and their connections after each test. */
export function useTestSockets(): TestSockets {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  });
  return {
    servers,
    sockets,
    listen(server) {
      servers.push(server);
      server.on('connection', (socket) => sockets.push(socket.on('error', () => {})));
      return listenAnywhere(server);
    },
  };
}
