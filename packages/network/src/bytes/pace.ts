import type { Duplex } from 'node:stream';

/** Node reads so many bytes from a socket at once. */
const MOST_BYTES = 65_536;

/** The bytes that each stream has emitted in this turn of the event loop. */
const emitted = new WeakMap<Duplex, number>();

/**
 * Pauses a stream after 64 KiB until the next turn of the event loop. Otherwise Node emits up to 2
 * MiB of one socket in one turn, and a hostile server can make their decoding take seconds. Call it
 * with each chunk that the stream emits.
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
