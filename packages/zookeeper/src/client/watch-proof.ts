/**
 * Ends a connection whose server may no longer tell its watches what changes. A server answers pings
 * by itself, even when it no longer hears from the ensemble's leader. It answers a `sync` when it has
 * applied everything that the leader had sent it before, and it has sent the events of that by then.
 */

import type { Cancel, Clock } from '@incumbent/core';

import type { Connection } from '../connection/connection.ts';
import { ExchangeError } from '../connection/failure.ts';
import { Writer } from '../protocol/jute.ts';
import { sync } from '../protocol/nodes.ts';

/** How often a connection that has watches asks for a proof, and how long the server has for it. */
const PROVE_EVERY_MS = 3_000;
const PROVE_WITHIN_MS = 3_000;
/** After a pause of this process, what came in meanwhile is read before it is taken for silence. */
const GRACE_MS = 50;

export interface WatchProofContext {
  readonly clock: Clock;
  /** Whether anybody watches: the connection of a lease proves itself by its renewals. */
  isNeeded(): boolean;
}

/** Asks for proofs until the connection ends or the returned function is called. */
export function proveWatches(connection: Connection, { clock, isNeeded }: WatchProofContext): Cancel {
  let cancel: Cancel = () => {};
  let isStopped = false;
  const later = (): void => {
    if (!isStopped && !connection.over) cancel = clock.schedule(PROVE_EVERY_MS, () => (isNeeded() ? ask() : later()));
  };
  const ask = (): void => {
    if (connection.over) return;
    connection.send(sync.type, path()).then(
      () => {
        cancel();
        later();
      },
      // The connection has ended.
      () => {},
    );
    cancel = clock.schedule(PROVE_WITHIN_MS, () => {
      cancel = clock.schedule(GRACE_MS, () => connection.destroy(unproven()));
    });
  };
  later();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Any will do: the answer waits for the changes of all. */
function path(): Uint8Array {
  const writer = new Writer();
  sync.encode(writer, '/');
  return writer.finish();
}

function unproven(): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, 'the server did not prove that it tells the watches what changes');
}
