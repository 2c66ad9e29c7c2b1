/** What the store cannot hold. */

import type { Key } from '@incumbent/core';
import { tooLarge } from '@incumbent/network';

import { MAX_DATA_NAME } from './keys/codec.ts';

/** A swap is one request, whatever the number of its changes. */
export const MAX_CHANGES = 128;
/** The most that the names and texts of `data` may have together. Kubernetes allows 1 MiB. */
export const MAX_DATA_BYTES = 1_000_000;
export const MAX_VALUE_BYTES: number = 64 * 1_024;
export const MAX_KEYS_PER_LEASE = 1_000;
export const MIN_TTL_MS = 1_000;
export const MAX_TTL_MS = 86_400_000;

export function tooLong(key: Key): Error {
  return tooLarge('kubernetes', `the key ${key} takes more than the ${MAX_DATA_NAME} characters that a name in data may have`);
}
