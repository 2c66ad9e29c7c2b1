/** Runs one mutant in a process of its own, and waits until it is caught. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileCache } from '@incumbent/test-support/compile-cache';
import type { World } from './last-found.ts';

export interface Caught {
  /** How many worlds were needed. */
  readonly worlds: number;
  /** Undefined if it was not caught. */
  readonly by?: { readonly profile: string; readonly seed: number; readonly promise: string; readonly what: string };
}

export interface CatchOptions {
  /** The world to try first. */
  readonly first?: World | undefined;
  /** Whether to try the plans of the corpus before other worlds. Default: false. */
  readonly corpus?: boolean;
  /** Ends the process. */
  readonly signal?: AbortSignal;
}

/**
 * Tries at most `most` worlds. Without a name, runs the unchanged sources. Rejects if the mutant no
 * longer fits the source.
 */
export async function catchMutant(
  name: string | undefined,
  most: number,
  { first, corpus = false, signal }: CatchOptions = {},
): Promise<Caught> {
  const [hook, search] = [import.meta.resolve('./hook.ts'), fileURLToPath(import.meta.resolve('./search.ts'))];
  const planted = name === undefined ? [] : ['--import', hook];
  const worlds = [String(most), corpus ? 'corpus' : '', ...(first === undefined ? [] : [first.profile, String(first.seed)])];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', ...planted, search, ...worlds];
  const env = { ...compileCache(), ...process.env, MUTANT: name, NODE_OPTIONS: '' };
  const { stdout } = await promisify(execFile)(process.execPath, options, { env, signal });
  return JSON.parse(stdout) as Caught;
}
