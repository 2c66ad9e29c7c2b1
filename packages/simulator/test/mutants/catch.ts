/** Puts one mutant into a process of its own, and waits for it to be caught. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Caught {
  /** How many worlds it took. */
  readonly worlds: number;
  /** Undefined: it was not caught. */
  readonly by?: { readonly profile: string; readonly seed: number; readonly promise: string; readonly what: string };
}

/** Tries so many worlds at most, without a name those of the sources as they are. Rejects where the mutant does not fit the source any more. */
export async function catchMutant(name: string | undefined, most: number): Promise<Caught> {
  const [hook, hunt] = [import.meta.resolve('./hook.ts'), fileURLToPath(import.meta.resolve('./hunt.ts'))];
  const planted = name === undefined ? [] : ['--import', hook];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', ...planted, hunt, String(most)];
  const { stdout } = await promisify(execFile)(process.execPath, options, { env: { ...process.env, MUTANT: name, NODE_OPTIONS: '' } });
  return JSON.parse(stdout) as Caught;
}
