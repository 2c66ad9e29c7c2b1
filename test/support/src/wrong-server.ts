/** Servers that are not the store that a client expects, and how opening a store on them fails. */

import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { expect } from 'vitest';

import { listenAnywhere } from './ports.ts';

const servers = {
  'accepts and sends nothing': () => createServer(),
  'sends garbage': () => createServer((socket) => void socket.on('error', () => {}).write(new Uint8Array(300).fill(0xee))),
  'ends every connection': () => createServer((socket) => void socket.on('error', () => {}).destroy()),
  'speaks HTTP': () => createHttpServer({ insecureHTTPParser: true }, (_, response) => void response.end('hello')),
} satisfies Record<string, () => Server>;

export type WrongServer = keyof typeof servers;

/** Runs `use` with the `host:port` of such a server. */
export async function withWrongServer(kind: WrongServer, use: (endpoint: string) => Promise<void>): Promise<void> {
  const server = servers[kind]();
  const { host, port } = await listenAnywhere(server);
  try {
    await use(`${host}:${port}`);
  } finally {
    server.close();
  }
}

/** The `host:port` of a server that was there a moment ago. */
export async function closedEndpoint(): Promise<string> {
  const server = createServer();
  const { host, port } = await listenAnywhere(server);
  await new Promise((resolve) => server.close(resolve));
  return `${host}:${port}`;
}

/**
 * The error with which opening a store fails. Fails the test if that takes much longer than
 * `connectTimeoutMs`.
 */
export async function openingFailure(open: () => Promise<{ close(): Promise<void> }>, connectTimeoutMs: number): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await open().then(
    (store) => store.close().then(() => 'it opened'),
    (error: unknown) => error,
  );
  // A generous bound, because the machine may be busy.
  expect(performance.now() - from).toBeLessThan(4 * connectTimeoutMs);
  return failure;
}
