/** Puts one bug into a process of its own, and waits for it to be found. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Found {
  /** How many worlds it took: the last one's seed. */
  readonly worlds: number;
  /** Undefined: no promise was broken. */
  readonly promise?: string;
  readonly what?: string;
}

/** Tries so many worlds at most, by the hook and the hunt of a folder. Rejects where the bug does not fit the source any more. */
export async function find(name: string, most: number, folder: string = import.meta.url): Promise<Found> {
  const [hook, hunt] = [new URL('hook.ts', folder).href, fileURLToPath(new URL('hunt.ts', folder))];
  const options = ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', '--import', hook, hunt, String(most)];
  const { stdout } = await promisify(execFile)(process.execPath, options, { env: { ...process.env, PLANTED: name, NODE_OPTIONS: '' } });
  return JSON.parse(stdout) as Found;
}
