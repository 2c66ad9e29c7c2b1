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
 * A store that tests may need, and of which version; `own` where the tests need servers that they
 * may harm.
 */
export interface RequiredStore extends VersionOptions {
  readonly store: StoreName;
  readonly own?: boolean;
}

/**
 * Whether the store can be had, for `describe.runIf(await requireStore({ store: 'etcd' }))`: the
 * runner then counts what is skipped. Where it cannot, this says so on standard error, with all
 * that was tried; with `INCUMBENT_REQUIRE_STORES=1` it throws instead.
 */
export function requireStore(required: RequiredStore): Promise<boolean> {
  return canBeHad(() => find(required));
}

/**
 * The same for a container engine: one that answers, or that can be started; with `own` the latter
 * alone, which is no failure where another answers.
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
 * Whether a disk can be mounted and frozen: takes root on Linux, so where it cannot that is never a
 * failure.
 */
export function requireFreezableDisk(): Promise<boolean> {
  return canBeHad(tryDisk, true);
}

/** The same for whoever can do without: `why` is called with the reason where there is none. */
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
    await disk.freeze();
    await disk.thaw();
  } finally {
    await scratch.remove();
  }
}

export async function canBeHad(look: () => Promise<unknown>, isSpare = false): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || (!isSpare && setting('INCUMBENT_REQUIRE_STORES') === '1')) throw error;
    // Past the runner, which may hide what a test file prints.
    writeSync(2, `SKIPPED TESTS: ${error.message}\n`);
    return false;
  }
}

async function find({ store, version = 'default', own = false }: RequiredStore): Promise<void> {
  const { address, source } = stores[store];
  // A given address that does not answer is a mistake, for the tests to tell.
  if (setting(address) === undefined || version !== 'default' || own) await source(version);
}
