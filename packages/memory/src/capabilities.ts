/** What a memory server declares, from its options. */

import type { Revision, StoreCapabilities } from '@incumbent/core';
import { checkBoolean, checkNumber, checkOneOf } from '@incumbent/core/adapter';

type OptionsOf<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** The capabilities that an option of the server can set. */
export interface CapabilityOptions extends OptionsOf<
  Omit<
    StoreCapabilities,
    | 'weakness'
    | 'expiresWithinMs'
    | 'expiresOnExitWithinMs'
    | 'renewalLag'
    | 'reconnectsWithinMs'
    | 'watchTellsValues'
    | 'revisionInSwap'
    | 'maxTotalBytes'
  >
> {
  readonly swapSharesRevision?: boolean | undefined;
}

/** How late the timer that ends a lease may be on a busy machine. */
const TIMER_SLACK_MS = 100;
const DAY_MS = 86_400_000;

/** Adds the defaults. Throws `INVALID_OPTION` for a value out of range. */
export function capabilitiesOf(options: CapabilityOptions): StoreCapabilities {
  const minTtlMs = checkNumber('minTtlMs', options.minTtlMs, 1, { min: 1, max: DAY_MS });
  const { endsEarly } = options;
  const swapSharesRevision =
    checkBoolean('swapSharesRevision', options.swapSharesRevision, true) && options.revisionsSurviveDeletion !== false;
  const linearizable = checkBoolean('linearizable', options.linearizable, true);
  return {
    linearizable,
    ...(linearizable ? {} : { weakness: 'its option linearizable is false' }),
    termSource: checkOneOf('termSource', options.termSource, 'counter', ['counter', 'clock']),
    minTtlMs,
    maxTtlMs: checkNumber('maxTtlMs', options.maxTtlMs, DAY_MS, { min: minTtlMs, max: DAY_MS }),
    expiresWithinMs: (ttlMs: number) => ttlMs + TIMER_SLACK_MS,
    assignableLease: checkBoolean('assignableLease', options.assignableLease, true),
    watchTellsValues: true,
    revisionsSurviveDeletion: checkBoolean('revisionsSurviveDeletion', options.revisionsSurviveDeletion, true),
    ...(swapSharesRevision ? { revisionInSwap: (other: Revision) => other } : {}),
    maxChanges: checkNumber('maxChanges', options.maxChanges, 128, { min: 1, max: 10_000 }),
    maxValueBytes: checkNumber('maxValueBytes', options.maxValueBytes, 2 ** 20, { min: 1, max: 2 ** 30 }),
    maxKeysPerLease: checkNumber('maxKeysPerLease', options.maxKeysPerLease, 100_000, { min: 1, max: 1_000_000 }),
    ...(endsEarly === undefined ? {} : { endsEarly }),
  };
}
