/** A client whose link a case breaks and heals. */

import assert from 'node:assert/strict';
import { isIncumbentError, type TimedCall } from '@incumbent/core';
import { Client } from './client.ts';
import type { FaultKind, Faults, StoreHarness } from './harness.ts';
import { until } from './time.ts';

export interface Breakable {
  readonly client: Client;
  readonly faults: Faults;
  /** A watch over a cut link becomes stale within this many ms. */
  readonly noticesWithinMs: number;
  /** The link works again within this many ms after it was healed. */
  readonly recoversWithinMs: number;
  /**
   * Options of calls that are expected to time out. The timeout is short, and longer than a call
   * takes on a healthy link.
   */
  readonly short: TimedCall;
}

/**
 * Opens another client on the case's namespace and makes a call. `fault`: the fault that the case
 * needs.
 */
export async function breakable(harness: StoreHarness, fault?: FaultKind): Promise<Breakable> {
  assert.ok(harness.faulty !== undefined, 'the harness offers faults, and no client to break');
  const { store, faults, noticesWithinMs, recoversWithinMs } = await harness.faulty(fault);
  const client = new Client(harness, store);
  await client.read('warm-up');
  return {
    client,
    faults,
    noticesWithinMs: noticesWithinMs + harness.slackMs,
    recoversWithinMs: recoversWithinMs + harness.slackMs,
    short: { timeoutMs: harness.timeoutMs / 4 },
  };
}

/**
 * Starts a fault that lasts until the link is healed, or loses one reply, or resets the link once.
 */
export function beginFault({ faults }: Breakable, kind: FaultKind): Promise<void> {
  return kind === 'dropReply' ? faults.dropNextReply() : faults[kind]();
}

/** Heals the link and waits until calls succeed again. Rejects if this takes too long. */
export async function recover(broken: Breakable): Promise<void> {
  await broken.faults.heal();
  await works(broken, 'a healed client works again');
}

/** Waits until calls succeed. Rejects if this takes too long. */
export async function works({ client, recoversWithinMs, short }: Breakable, what: string): Promise<void> {
  const isServed = async (): Promise<boolean> => {
    const [settled] = await Promise.allSettled([client.store.read('warm-up', short)]);
    if (settled.status === 'rejected')
      assert.ok(isIncumbentError(settled.reason), `not an error of the contract: ${String(settled.reason)}`);
    return settled.status === 'fulfilled';
  };
  await until(client.clock, isServed, { withinMs: recoversWithinMs, what });
}
