/** Durations that all adapters over a network share. */

/**
 * If this process was suspended, an answer may have arrived that it has not processed yet. When a
 * server's time is over, an adapter processes what has arrived for this long, in ms, before it
 * counts the server as silent.
 */
export const GRACE_MS = 50;

/**
 * How long the bytes of one message count as signs of life, in ms, from the message's first byte. A
 * server that sends a long message one byte at a time would otherwise never be silent.
 */
export const MAX_MESSAGE_MS = 30_000;

/** How long one server may take to accept a connection and to answer the greeting, in ms. */
export const DIAL_TIMEOUT_MS = 3_000;

/**
 * The same if a store dials so many servers one after the other while it opens, in ms. All of them
 * fit into the time for opening, so that the error can say of each one how it failed.
 */
export function dialTimeoutMs(connectTimeoutMs: number, servers: number): number {
  return Math.floor(Math.min((0.9 * connectTimeoutMs) / servers, DIAL_TIMEOUT_MS));
}

/** The first pause between two rounds of attempts to connect, in ms. Later ones are longer. */
export const FIRST_RECONNECT_PAUSE_MS = 50;
/** The longest pause between two rounds of attempts to connect, in ms. */
export const LONGEST_RECONNECT_PAUSE_MS = 500;

/** The pause after a read for a watch that failed although the connection works, in ms. */
export const REREAD_MS = 250;

/**
 * How often a connection with watches must prove that it still reports changes, in ms. A server
 * that hangs may answer pings and renewals all the time.
 */
export const PROVE_EVERY_MS = 3_000;
/** How long such a proof may take, in ms. */
export const PROVE_WITHIN_MS = 3_000;
