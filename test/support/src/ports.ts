import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Below the ranges of outgoing connections. Otherwise a server that is restarted could find such a
 * connection on its port.
 */
const FIRST = 15_000;
const END = 30_000;
const ATTEMPTS = 100;

export const LOOPBACK = '127.0.0.1';

const given = new Set<number>();

/** `host:port` of a URL. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/**
 * A TCP port of the loopback address on which no process listens. On Linux no other process of the
 * tests is given it until this one ends, also while the server on it is down for a restart.
 * Elsewhere another process may take it first, so the caller must be ready to try another port.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST, END);
    if (given.has(port)) continue;
    given.add(port);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no free port among ${ATTEMPTS} tried from ${FIRST} to ${END - 1}`);
}

/** Makes a server listen on a port of the loopback address, or rejects with the system's error. */
export function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host: LOOPBACK, port, exclusive: true }, () => {
    server.off('error', reject);
    resolve();
  });
  return promise;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Makes a server listen on any free port of the loopback address. */
export async function listenAnywhere(server: Server): Promise<Address> {
  await listen(server, 0);
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new TypeError('a TCP server has a port');
  return { host: address.address, port: address.port };
}

export function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

/** Whether no other process has reserved the port. It stays reserved until this process ends. */
export async function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const holder = createServer().unref();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  holder.once('error', (error) => (isAddressInUse(error) ? resolve(false) : reject(error)));
  // An abstract socket has no file, so that nothing is left behind by a process that is killed.
  holder.listen({ path: `\0incumbent-test-port-${port}` }, () => resolve(true));
  return promise;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, port);
  } catch (error) {
    if (isAddressInUse(error)) return false;
    throw error;
  }
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.close(() => resolve(true));
  return promise;
}
