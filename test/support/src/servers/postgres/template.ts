import { join } from 'node:path';

import { run } from '../../run.ts';
import { cached } from '../cache.ts';

export const SUPERUSER = 'test';

/** The flags of initdb for a data directory that one local user needs no password for. */
const TRUSTING = ['-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];

/**
 * A data directory of these programs in which no server has run yet. It takes more than a second to
 * create, and a copy takes a tenth of a second.
 */
export async function templateOf(programs: string): Promise<string> {
  const version = (await run(join(programs, 'postgres'), ['--version'])).trim().replaceAll(/[^\w.]+/g, '-');
  const folder = await cached(join('postgres', `${version}-${process.arch}`), async (draft) => {
    await run(join(programs, 'initdb'), ['-D', join(draft, 'data'), ...TRUSTING], { timeoutMs: 60_000 });
  });
  return join(folder, 'data');
}
