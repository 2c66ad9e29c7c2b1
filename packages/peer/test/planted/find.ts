/** Plants one bug in a process of its own, and waits until the simulation finds it. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileCache } from '@incumbent/test-support/compile-cache';
import type { Bug } from './bug.ts';

export interface Found {
  /** How many worlds were run: the seed of the last one. */
  readonly worlds: number;
  /** Undefined: the simulation did not find the bug. */
  readonly promise?: string;
  readonly what?: string;
}

const [hook, search] = [import.meta.resolve('./hook.ts'), import.meta.resolve('./search.ts')];

/**
 * Runs at most `most` worlds. Rejects if the text that the bug replaces is not in the source any
 * more.
 */
export async function find({ name, on }: Pick<Bug, 'name' | 'on'>, most: number): Promise<Found> {
  const program = ['--import', hook, fileURLToPath(search), on, String(most)];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', ...program];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    env: { ...compileCache(), ...process.env, MUTANT: name, NODE_OPTIONS: '' },
  });
  return JSON.parse(stdout) as Found;
}
