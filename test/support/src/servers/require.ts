import { writeSync } from 'node:fs';

import { composeCommand } from '../engine/compose.ts';
import { findEngine } from '../engine/find.ts';
import { enginePrograms } from '../engine/programs.ts';
import { makeScratch } from '../scratch.ts';
import { setting } from '../settings.ts';
import { FreezableDisk } from './disk.ts';
import { StoreUnavailable } from './source.ts';
import { stores } from './stores.ts';
import type { StoreName, VersionOptions } from './types.ts';

/**
 * A store that tests need, and its version. `own` if the tests need servers that they may damage.
 */
export interface RequiredStore extends VersionOptions {
  readonly store: StoreName;
  readonly own?: boolean;
}

/**
 * Whether the store is available, for `describe.runIf(await requireStore({ store: 'etcd' }))`, so
 * that the runner counts skipped tests. If not, writes all that was tried to standard error. With
 * `INCUMBENT_REQUIRE_STORES=1` it throws instead.
 */
export function requireStore(required: RequiredStore): Promise<boolean> {
  return canBeHad(() => find(required));
}

/**
 * The same for a container engine that answers, or that can be started. With `own` only the latter
 * counts, and its absence is no failure if another engine answers.
 */
export async function requireEngine({ own = false }: { readonly own?: boolean } = {}): Promise<boolean> {
  const found = await findEngine();
  if (found !== undefined && !own) return true;
  return canBeHad(enginePrograms, found !== undefined);
}

/** The same for `docker compose`. */
export function requireCompose(): Promise<boolean> {
  return canBeHad(composeCommand);
}

/**
 * Whether a disk can be mounted and frozen. This needs root on Linux, so its absence is never a
 * failure.
 */
export function requireFreezableDisk(): Promise<boolean> {
  return canBeHad(tryDisk, true);
}

/**
 * The same for tests that can run without it. Calls `why` with the reason if it is not available.
 */
export async function findFreezableDisk(why: (error: unknown) => void): Promise<boolean> {
  try {
    await tryDisk();
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    why(error);
    return false;
  }
}

async function tryDisk(): Promise<void> {
  const scratch = await makeScratch('disk');
  try {
    await using disk = await FreezableDisk.mount(`${scratch.path}/image`, `${scratch.path}/mounted`);
    await disk.freeze().catch((error: unknown) => {
      throw new StoreUnavailable('disk that can be frozen', [error instanceof Error ? error.message : String(error)]);
    });
    await disk.thaw();
  } finally {
    await scratch.remove();
  }
}

/**
 * Whether `look` resolves. If it throws `StoreUnavailable`, writes the reason to standard error, or
 * throws it with `INCUMBENT_REQUIRE_STORES=1` unless `isSpare` is true.
 */
export async function canBeHad(look: () => Promise<unknown>, isSpare = false): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || (!isSpare && setting('INCUMBENT_REQUIRE_STORES') === '1')) throw error;
    // Bypasses the runner, which may hide the output of a test file.
    writeSync(2, `SKIPPED TESTS: ${error.message}\n`);
    return false;
  }
}

async function find({ store, version = 'default', own = false }: RequiredStore): Promise<void> {
  const { address, source } = stores[store];
  // If a configured address does not answer, the tests report the error.
  if (setting(address) === undefined || version !== 'default' || own) await source(version);
}
