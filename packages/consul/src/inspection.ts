/** What the agent reports, and what ends the sessions of the store: the store's `inspect`. */

import type { StoreCapabilities, StoreReport } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';

import type { Binding } from './leases.ts';

const SESSIONS = {
  check: 'bound to checks of the agent: when a process dies, its session ends within the ttl',
  ttl: 'bound to no check: when a process dies, its session ends within twice the ttl',
} as const;

export async function inspect(
  version: Promise<string>,
  { bound, refusal }: Binding,
  { minTtlMs }: StoreCapabilities,
): Promise<StoreReport> {
  const facts = [{ what: 'sessions', detail: SESSIONS[bound] }];
  const slow = `the agent lets the store bind no session to a check, so ttls are ${minTtlMs / 1_000} s or more, and sessions last up to twice as long`;
  const warnings = refusal === undefined ? [] : [`${slow}: ${refusal}`];
  try {
    return { version: await version, facts, warnings };
  } catch (error) {
    if (!isIncumbentError(error, 'PERMISSION_DENIED')) throw error;
    return { facts, warnings: [...warnings, `the version is unknown, and elections do not need it: ${error.message}`] };
  }
}
