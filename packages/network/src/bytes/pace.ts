import type { Duplex } from 'node:stream';

/** What Node reads from a socket at once. */
const MOST_BYTES = 65_536;

/** What each stream has emitted since the event loop turned last. */
const emitted = new WeakMap<Duplex, number>();

/**
 * Lets the event loop turn after 64 KiB of a stream. Without it, Node hands over up to 2 MiB of one socket in one turn, and
 * what a hostile server packs into them can take seconds. Call it with each chunk that the stream emits.
 */
export function pace(stream: Duplex, chunk: Uint8Array): void {
  const before = emitted.get(stream);
  const bytes = (before ?? 0) + chunk.length;
  emitted.set(stream, bytes);
  if (before === undefined) setImmediate(() => turned(stream));
  if (bytes >= MOST_BYTES) stream.pause();
}

function turned(stream: Duplex): void {
  const isPaused = (emitted.get(stream) ?? 0) >= MOST_BYTES;
  emitted.delete(stream);
  if (isPaused && !stream.destroyed) stream.resume();
}
