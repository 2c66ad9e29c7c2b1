/** A client whose link a case breaks and mends. */

import assert from 'node:assert/strict';
import { isIncumbentError, type CallOptions } from '@incumbent/core';
import { Client } from './client.ts';
import type { FaultKind, Faults, StoreHarness } from './harness.ts';
import { until } from './time.ts';

export interface Breakable {
  readonly client: Client;
  readonly faults: Faults;
  /** A watch through a cut link has gone stale after this many ms. */
  readonly noticesWithinMs: number;
  /** Healed, the link works again after this many ms. */
  readonly recoversWithinMs: number;
  /** For calls that are to fail by their time: short, and more than a healthy call takes. */
  readonly short: CallOptions;
}

/** Another client on the case's namespace, connected and used. `fault`: the one that the case is about. */
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

/** Heals the link and waits until calls succeed again, in time. */
export async function recover(broken: Breakable): Promise<void> {
  await broken.faults.heal();
  await works(broken, 'a healed client works again');
}

/** Waits until calls succeed, in time. */
export async function works({ client, recoversWithinMs, short }: Breakable, what: string): Promise<void> {
  const isServed = async (): Promise<boolean> => {
    const [settled] = await Promise.allSettled([client.store.read('warm-up', short)]);
    if (settled.status === 'rejected')
      assert.ok(isIncumbentError(settled.reason), `not an error of the contract: ${String(settled.reason)}`);
    return settled.status === 'fulfilled';
  };
  await until(client.clock, isServed, { withinMs: recoversWithinMs, what });
}
