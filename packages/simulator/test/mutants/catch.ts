/** Puts one mutant into a process of its own, and waits for it to be caught. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { World } from './last-found.ts';

export interface Caught {
  /** How many worlds it took. */
  readonly worlds: number;
  /** Undefined: it was not caught. */
  readonly by?: { readonly profile: string; readonly seed: number; readonly promise: string; readonly what: string };
}

export interface CatchOptions {
  /** The world that is tried before all others. */
  readonly first?: World | undefined;
  /** Ends the process. */
  readonly signal?: AbortSignal;
}

/**
 * Tries so many worlds at most, without a name those of the sources as they are. Rejects where the
 * mutant does not fit the source any more.
 */
export async function catchMutant(name: string | undefined, most: number, { first, signal }: CatchOptions = {}): Promise<Caught> {
  const [hook, search] = [import.meta.resolve('./hook.ts'), fileURLToPath(import.meta.resolve('./search.ts'))];
  const planted = name === undefined ? [] : ['--import', hook];
  const worlds = [String(most), ...(first === undefined ? [] : [first.profile, String(first.seed)])];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', ...planted, search, ...worlds];
  const env = { ...process.env, MUTANT: name, NODE_OPTIONS: '' };
  const { stdout } = await promisify(execFile)(process.execPath, options, { env, signal });
  return JSON.parse(stdout) as Caught;
}
