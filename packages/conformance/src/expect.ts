/** What cases expect of errors and of expiring leases. */

import assert from 'node:assert/strict';
import { isIncumbentError, outcomeOf, type Key, type Lease, type Outcome, type StoreErrorCode } from '@incumbent/core';
import type { Client } from './client.ts';
import type { StoreHarness } from './harness.ts';
import { until } from './time.ts';

/**
 * Expects a store call to fail with one of these outcomes and, if given, this code. Returns the
 * error.
 */
export async function fails(call: Promise<unknown>, outcomes: readonly Outcome[], code?: StoreErrorCode): Promise<unknown> {
  const [settled] = await Promise.allSettled([call]);
  assert.equal(settled.status, 'rejected', `the call succeeded; expected: ${code ?? ''} ${outcomes.join(' or ')}`);
  const error: unknown = settled.status === 'rejected' ? settled.reason : undefined;
  assert.ok(isIncumbentError(error), `not an error of the contract: ${String(error)}`);
  assert.ok('outcome' in error, `an error without an outcome: ${error.code}`);
  assert.ok(outcomes.includes(outcomeOf(error)), `${error.code} is ${outcomeOf(error)}, not ${outcomes.join(' or ')}: ${error.message}`);
  if (code !== undefined) assert.equal(error.code, code);
  return error;
}

/** Expects that the store has not applied the call and never will. */
export async function refused(call: Promise<unknown>, code?: StoreErrorCode): Promise<void> {
  await fails(call, ['refused'], code);
}

/** How long after `validFrom` a key of a lease that is not renewed may still exist, in ms. */
export function goneWithinMs(client: Client, harness: StoreHarness, lease: Lease): number {
  return client.store.capabilities.expiresWithinMs(lease.ttlMs) + harness.timeoutMs + harness.slackMs;
}

/**
 * Waits until a key that is bound to the lease is deleted. Expects this in time, and not before the
 * ttl has passed.
 */
export async function expiry(client: Client, harness: StoreHarness, key: Key, lease: Lease): Promise<void> {
  const { clock } = harness;
  const goneBy = lease.validFrom.monotonicMs + goneWithinMs(client, harness, lease);
  await until(clock, async () => (await client.read(key)) === undefined, {
    // The server may be busy with other cases, so it gets the time of a few calls more.
    withinMs: goneBy + 3 * harness.timeoutMs - clock.monotonic(),
    what: `${key} vanishes with its lease`,
    everyMs: harness.ttlMs / 40,
  });
  const age = clock.monotonic() - lease.validFrom.monotonicMs;
  assert.ok(age >= lease.ttlMs, `${key} vanished ${age} ms after validFrom: before its ttl of ${lease.ttlMs} ms`);
}
