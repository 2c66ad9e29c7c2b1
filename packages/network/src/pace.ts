import type { Duplex } from 'node:stream';

/** What Node reads from a socket at once. A chunk of exactly that length has more behind it. */
const FULL_CHUNK_BYTES = 65_536;

/**
 * Lets the event loop turn after a chunk that has more behind it. Without it, Node hands over up to 2 MiB of one socket in one turn, and
 * what a hostile server packs into them can take seconds. Call it with each chunk that the stream emits.
 */
export function pace(stream: Duplex, chunk: Uint8Array): void {
  if (chunk.length !== FULL_CHUNK_BYTES) return;
  stream.pause();
  setImmediate(() => {
    if (!stream.destroyed) stream.resume();
  });
}
