import { createHash } from 'node:crypto';
import { join } from 'node:path';

import { run } from '../../run.ts';
import { cached } from '../cache.ts';

export const SUPERUSER = 'test';

/**
 * The flags of initdb for every data directory. Its log is in files of 4 MB instead of 16, because
 * a new server fills the first ones with zeros.
 */
export const INITDB_FLAGS = ['-E', 'UTF8', '--no-locale', '--no-sync', '--wal-segsize=4'] as const;

/** One user, without a password. */
const TRUSTING = ['-U', SUPERUSER, '-A', 'trust', ...INITDB_FLAGS];

/**
 * A data directory of these programs in which no server has run yet. It takes more than a second to
 * create, and a copy takes a tenth of a second.
 */
export async function templateOf(programs: string): Promise<string> {
  const version = (await run(join(programs, 'postgres'), ['--version'])).trim().replaceAll(/[^\w.]+/g, '-');
  const folder = await cached(join('postgres', `${version}-${process.arch}-${hashOf(TRUSTING)}`), async (draft) => {
    await run(join(programs, 'initdb'), ['-D', join(draft, 'data'), ...TRUSTING], { timeoutMs: 60_000 });
  });
  return join(folder, 'data');
}

function hashOf(flags: readonly string[]): string {
  return createHash('sha256').update(flags.join(' ')).digest('hex').slice(0, 8);
}
