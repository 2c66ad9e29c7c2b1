/** What the hostile servers share: the attacks, and a TCP server that violates its protocol. */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** What a server does instead of answering. */
export const ATTACKS = ['endless before authentication', 'endless after it', 'tiny values', 'endless body', 'one byte at a time'] as const;
export type Attack = (typeof ATTACKS)[number];

/** The longest answers that adapters take have 17 MiB. */
export const LONG_BYTES: number = 16 * 2 ** 20;
/** The total size that the attack by tiny values announces or sends. */
export const TINY_BYTES: number = 64 * 2 ** 20;

/**
 * A server of one protocol. While `attack` is undefined, it answers correctly from an empty store.
 */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** Sets the attack, and ends all connections, so that all later ones are alike. */
  become(attack: Attack | undefined): void;
}

/** One connection, from the server's side. */
export interface Talk {
  readonly socket: Socket;
  readonly attack: Attack | undefined;
}

/** Listens on the loopback address. Calls `talk` for each new connection. */
export async function serve(urlOf: (host: string) => string, talk: (talk: Talk) => void): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  let attack: Attack | undefined;
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    // Clients are expected to leave in the middle of an answer.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    talk({ socket, attack });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: urlOf(`127.0.0.1:${address.port}`),
    become: (next) => {
      attack = next;
      endAll();
    },
    [Symbol.asyncDispose]: async () => {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Writes all pieces at the client's reading speed until the client leaves. */
export async function pour(socket: Socket, pieces: Iterable<Uint8Array>): Promise<void> {
  let pieceCount = 0;
  for (const piece of pieces) {
    if (socket.destroyed) return;
    pieceCount += 1;
    if (!socket.write(piece)) await drained(socket);
    // Otherwise a fast client would block the event loop for ever.
    else if (pieceCount % 256 === 0) await setImmediate();
  }
}

/** Resolves when the socket accepts more data, or is closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

/** `total` bytes of 64 KiB at a time. */
export function* many(piece: string, total: number = Number.POSITIVE_INFINITY): Generator<Uint8Array> {
  const chunk = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  for (let sent = 0; sent < total; sent += chunk.length) yield chunk.subarray(0, Math.min(chunk.length, total - sent));
}

/** `total` bytes, each in a piece of its own. */
export function* oneByOne(total: number): Generator<Uint8Array> {
  const byte = Buffer.from('a');
  for (let sent = 0; sent < total; sent += 1) yield byte;
}
