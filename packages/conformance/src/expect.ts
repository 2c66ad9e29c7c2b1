/** What cases expect of errors and of expiry. */

import assert from 'node:assert/strict';
import { isIncumbentError, outcomeOf, type Key, type Lease, type Outcome, type StoreErrorCode } from '@incumbent/core';
import type { Client } from './client.ts';
import type { StoreHarness } from './harness.ts';
import { until } from './time.ts';

/** Expects a failed store call with one of these outcomes, and this code if one is given. Returns the error. */
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

/** Expects that the store certainly did not do it and never will. */
export async function refused(call: Promise<unknown>, code?: StoreErrorCode): Promise<void> {
  await fails(call, ['refused'], code);
}

/** How long after `validFrom` a lease that nobody renews may still be seen, in ms. */
export function goneWithinMs(client: Client, harness: StoreHarness, lease: Lease): number {
  return client.store.capabilities.expiresWithinMs(lease.ttlMs) + harness.timeoutMs + harness.slackMs;
}

/** Waits until a key that is bound to the lease has vanished; expects it to in time, and never before the ttl has passed. */
export async function expiry(client: Client, harness: StoreHarness, key: Key, lease: Lease): Promise<void> {
  const { clock } = harness;
  const goneBy = lease.validFrom.monotonicMs + goneWithinMs(client, harness, lease);
  await until(clock, async () => (await client.read(key)) === undefined, {
    withinMs: goneBy - clock.monotonic(),
    what: `${key} vanishes with its lease`,
    everyMs: harness.ttlMs / 40,
  });
  const age = clock.monotonic() - lease.validFrom.monotonicMs;
  assert.ok(age >= lease.ttlMs, `${key} vanished ${age} ms after validFrom: before its ttl of ${lease.ttlMs} ms`);
}
