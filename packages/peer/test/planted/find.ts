/** Puts one bug into a process of its own, and waits for it to be found. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bug } from './bug.ts';

export interface Found {
  /** How many worlds it took: the last one's seed. */
  readonly worlds: number;
  /** Undefined: no promise was broken. */
  readonly promise?: string;
  readonly what?: string;
}

const [hook, hunt] = [import.meta.resolve('./hook.ts'), import.meta.resolve('./hunt.ts')];

/** Tries so many worlds at most. Rejects where the bug does not fit the source any more. */
export async function find({ name, on }: Pick<Bug, 'name' | 'on'>, most: number): Promise<Found> {
  const program = ['--import', hook, fileURLToPath(hunt), on, String(most)];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', ...program];
  const { stdout } = await promisify(execFile)(process.execPath, options, { env: { ...process.env, PLANTED: name, NODE_OPTIONS: '' } });
  return JSON.parse(stdout) as Found;
}
