/** Connects to one member, and again whenever the connection is gone. */

import type { Socket } from 'node:net';
import type { Clock, Random } from '@incumbent/core';
import { Backoff, onAbort, orAborted, sleep } from '@incumbent/core/adapter';
import { type Handshake, HANDSHAKE_BYTES, introduce, type Self } from './handshake.ts';
import type { Neighbour } from './neighbour.ts';
import { Refused } from './refusal.ts';
import { Wire } from './wire.ts';

const FIRST_MS = 25;
const MOST_MS = 1_000;

export interface DiallerContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly handshakeTimeoutMs: number;
  readonly self: Self;
  readonly closing: AbortSignal;
  /**
   * A socket on its way to the member. Resolves when bytes may be sent; it is destroyed when the
   * signal aborts.
   */
  readonly connect: (memberId: string, signal: AbortSignal) => Promise<Socket>;
  readonly refuse: (refused: Refused) => void;
  /** Whether this side's connection with it is kept, where both dial. */
  readonly isPreferred: (memberId: string) => boolean;
}

/** Until `closing` aborts. Never rejects. */
export async function keepConnected(neighbour: Neighbour, context: DiallerContext): Promise<void> {
  const { clock, random, closing, refuse, isPreferred } = context;
  const backoff = new Backoff(random, FIRST_MS, MOST_MS);
  while (!closing.aborted) {
    // It may have dialled itself.
    await orEnded(neighbour.disconnected(), closing);
    if (closing.aborted) return;
    const beganMs = clock.monotonic();
    try {
      const { wire, handshake } = await dial(neighbour.memberId, context);
      await neighbour.connect(wire, handshake, isPreferred(neighbour.memberId)).over;
    } catch (error) {
      // Whoever is not there yet, or no more, is nothing to tell of: who is connected is told.
      if (error instanceof Refused) refuse(new Refused(error.reason, { ...error.facts, from: neighbour.memberId }));
    }
    if (clock.monotonic() - beganMs > MOST_MS) backoff.reset();
    await sleep(clock, backoff.next(), closing);
  }
}

/** Resolves with the promise, or when the signal aborts. Never rejects. */
async function orEnded(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  await orAborted(promise, signal).catch(() => {});
}

async function dial(to: string, context: DiallerContext): Promise<{ readonly wire: Wire; readonly handshake: Handshake }> {
  const { clock, handshakeTimeoutMs, self, closing, connect } = context;
  const timedOut = new AbortController();
  const late = clock.schedule(handshakeTimeoutMs, () => timedOut.abort(new Refused('handshakeTimeout')));
  const stop = onAbort(closing, () => timedOut.abort(closing.reason));
  try {
    const wire = new Wire(await connect(to, timedOut.signal), HANDSHAKE_BYTES);
    const cancel = onAbort(timedOut.signal, () => wire.destroy(timedOut.signal.reason));
    try {
      return { wire, handshake: await introduce(wire, self, to) };
    } catch (error) {
      wire.destroy(error);
      throw error;
    } finally {
      cancel();
    }
  } finally {
    late();
    stop();
  }
}
