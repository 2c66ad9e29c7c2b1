/**
 * Limits the connections of a server, so that they leave file descriptors to the store and to the
 * program of `run`.
 */

import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';

/** How many descriptors stay free for everything else. Without connections, Node has about 25. */
const RESERVED = 100;
/** How often a server says that it accepts no more connections, in ms. */
const SAY_EVERY_MS = 60_000;

/**
 * Limits the server to `most` connections, or to fewer if the process may not open as many files.
 * Calls `refused` when it closes a new connection for that reason, at most once a minute.
 *
 * If the process runs out of descriptors, libuv accepts each new connection and closes it, and Node
 * emits no event. So the limit has to be lower than that.
 */
export function limitConnections(server: Server, most: number, refused: (message: string) => void): void {
  const files = maxOpenFiles();
  server.maxConnections = connectionsWithin(most, files);
  let saidMs = -Infinity;
  server.on('drop', () => {
    if (performance.now() - saidMs < SAY_EVERY_MS) return;
    saidMs = performance.now();
    const why = server.maxConnections < most ? `: this process may open ${files} files (ulimit -n)` : '';
    refused(`${server.maxConnections} connections are open, and the server accepts no more${why}`);
  });
}

/** Half of the files, if the limit is so low that the rest would be less than that. */
export function connectionsWithin(most: number, files: number): number {
  return Math.min(most, Math.max(files - RESERVED, Math.floor(files / 2)));
}

/** Infinity if the system does not say. */
function maxOpenFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(soft ?? Infinity);
  } catch {
    return Infinity;
  }
}
