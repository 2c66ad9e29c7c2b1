import type { Socket } from 'node:net';

/**
 * Ends a connection now, and what is still to be written is lost: its other side sees ECONNRESET,
 * or, where this side has just said that it sends no more, an end in order.
 */
export function reset(socket: Socket): void {
  // Node resets neither a socket whose end is on its way nor one that is still connecting, and the
  // former it would then never close.
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
