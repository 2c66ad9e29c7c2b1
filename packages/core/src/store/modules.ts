/** Finds and loads the modules that another process or thread needs. */

import type { OpenRevoker } from './revoker.ts';

/**
 * The URL of a module in the same folder as the module at `url`, for another process to load.
 * `name` has no ending: the result has the ending of `url` (`.ts` in the sources, `.js` in the
 * build).
 */
export function moduleBeside(url: string, name: string): string {
  return url.slice(0, url.lastIndexOf('/') + 1) + name + url.slice(url.lastIndexOf('.'));
}

/**
 * Loads the function that `Revocation.module` exports.
 *
 * @throws A `TypeError` if it exports none, and whatever the import rejects with.
 */
export async function loadRevoker(module: string): Promise<OpenRevoker> {
  const loaded: unknown = await import(module);
  if (typeof loaded === 'object' && loaded !== null && 'openRevoker' in loaded && isOpenRevoker(loaded.openRevoker))
    return loaded.openRevoker;
  throw new TypeError('the module of a store has no function openRevoker');
}

function isOpenRevoker(value: unknown): value is OpenRevoker {
  return typeof value === 'function';
}
