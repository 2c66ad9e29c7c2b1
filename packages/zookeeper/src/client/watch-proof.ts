/**
 * Ends a connection whose server may no longer report changes to the connection's watches. A server
 * answers pings by itself, also after it has lost the ensemble's leader. It answers a `sync` when
 * it has applied everything that the leader had sent to it before. By then it has sent the events
 * too.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { GRACE_MS, PROVE_EVERY_MS, PROVE_WITHIN_MS } from '@incumbent/network';

import type { Connection } from '../connection/connection.ts';
import { ExchangeError } from '../errors.ts';
import { Code } from '../protocol/codes.ts';
import { Writer } from '../protocol/jute.ts';
import { sync } from '../protocol/nodes.ts';

/** How long a server may take that sends long answers meanwhile. */
const PROVE_AT_MOST_MS = 30_000;

export interface WatchProofContext {
  readonly clock: Clock;
  /** Whether there are watches. A lease's connection has none: renewals prove that it works. */
  isNeeded(): boolean;
}

/**
 * Asks for proofs until the connection ends or the returned function is called. A server answers in
 * the order of the requests, so on a slow link a long answer delays the proof behind it. While a
 * record is arriving, the server therefore gets another 3 s, again and again for at most 30 s.
 */
export function proveWatches(connection: Connection, { clock, isNeeded }: WatchProofContext): Cancel {
  let cancel: Cancel = () => {};
  let isStopped = false;
  const later = (): void => {
    if (!isStopped && !connection.over) cancel = clock.schedule(PROVE_EVERY_MS, () => (isNeeded() ? ask() : later()));
  };
  const ask = (): void => {
    if (connection.over) return;
    const untilMs = clock.monotonic() + PROVE_AT_MOST_MS;
    connection.send(sync.type, anyPath()).then(
      ({ code }) => {
        // An error proves nothing. The server is left when the time of the proof is over.
        if (code !== Code.OK) return;
        cancel();
        later();
      },
      // The connection has ended.
      () => {},
    );
    expectProof(untilMs);
  };
  const expectProof = (untilMs: number): void => {
    cancel = clock.schedule(PROVE_WITHIN_MS, () => {
      cancel = clock.schedule(GRACE_MS, () => {
        if (clock.monotonic() < untilMs && connection.isReceiving(PROVE_WITHIN_MS)) expectProof(untilMs);
        else connection.destroy(unproven());
      });
    });
  };
  later();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** The request body. The path does not matter: the answer waits for the changes of all nodes. */
function anyPath(): Uint8Array {
  const writer = new Writer();
  sync.encode(writer, '/');
  return writer.finish();
}

function unproven(): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, 'the server did not prove that it tells the watches what changes');
}
