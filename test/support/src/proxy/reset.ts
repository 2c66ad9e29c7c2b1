import type { Socket } from 'node:net';

/**
 * Ends a connection now and discards what is still to be written. The other side sees ECONNRESET
 * or, if this side has just sent an end, an orderly end.
 */
export function reset(socket: Socket): void {
  // Node cannot reset a socket whose end is being sent, or that is still connecting. It would never
  // close the former.
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
