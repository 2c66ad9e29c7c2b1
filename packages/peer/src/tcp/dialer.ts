/** Connects to one member, and reconnects whenever the connection ends. */

import type { Socket } from 'node:net';
import type { Clock, Random } from '@incumbent/core';
import { Backoff, onAbort, orAborted, sleep } from '@incumbent/core/adapter';
import { type Handshake, HANDSHAKE_BYTES, handshakeAsDialer, type MemberIdentity } from './handshake.ts';
import type { Neighbour } from './neighbour.ts';
import { Refused } from './refusal.ts';
import { Wire } from './wire.ts';

const FIRST_MS = 25;
const MOST_MS = 1_000;

export interface DialerContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly handshakeTimeoutMs: number;
  readonly self: MemberIdentity;
  readonly closing: AbortSignal;
  /**
   * Opens a socket to the member. Resolves when the socket can send. Destroys the socket when the
   * signal aborts.
   */
  readonly connect: (memberId: string, signal: AbortSignal) => Promise<Socket>;
  readonly refuse: (refused: Refused) => void;
  /**
   * If both members dial each other, whether they keep the connection that this one has dialled.
   */
  readonly isPreferred: (memberId: string) => boolean;
}

/** Runs until `closing` aborts. Never rejects. */
export async function keepConnected(neighbour: Neighbour, context: DialerContext): Promise<void> {
  const { clock, random, closing, refuse, isPreferred } = context;
  const backoff = new Backoff(random, FIRST_MS, MOST_MS);
  while (!closing.aborted) {
    // The other member may have dialled this one.
    await orEnded(neighbour.untilDisconnected(), closing);
    if (closing.aborted) return;
    const beganMs = clock.monotonic();
    try {
      const { wire, handshake } = await dial(neighbour.memberId, context);
      await neighbour.connect(wire, handshake, isPreferred(neighbour.memberId)).over;
    } catch (error) {
      // Do not report a member that cannot be reached: telemetry reports connections and their
      // ends.
      if (error instanceof Refused) refuse(new Refused(error.reason, { ...error.facts, from: neighbour.memberId }));
    }
    if (clock.monotonic() - beganMs > MOST_MS) backoff.reset();
    await sleep(clock, backoff.next(), closing);
  }
}

/** Resolves when the promise resolves or the signal aborts. Never rejects. */
async function orEnded(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  await orAborted(promise, signal).catch(() => {});
}

async function dial(to: string, context: DialerContext): Promise<{ readonly wire: Wire; readonly handshake: Handshake }> {
  const { clock, handshakeTimeoutMs, self, closing, connect } = context;
  const timedOut = new AbortController();
  const late = clock.schedule(handshakeTimeoutMs, () => timedOut.abort(new Refused('handshakeTimeout')));
  const stop = onAbort(closing, () => timedOut.abort(closing.reason));
  try {
    const wire = new Wire(await connect(to, timedOut.signal), HANDSHAKE_BYTES);
    const cancel = onAbort(timedOut.signal, () => wire.destroy(timedOut.signal.reason));
    try {
      return { wire, handshake: await handshakeAsDialer(wire, self, to) };
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
