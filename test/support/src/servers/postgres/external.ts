import { join } from 'node:path';

import { run } from '../../run.ts';
import { firstOf } from '../source.ts';
import { ctlArgs } from './ctl.ts';
import { postgresPrograms } from './programs.ts';
import { versionOf } from './status.ts';
import type { Postgres } from './types.ts';

/**
 * An external PostgreSQL at an address from the environment, whose user may create schemas. Throws
 * if it does not answer.
 */
export async function externalPostgres(url: string): Promise<Postgres> {
  const ctl = async (args: readonly string[]): Promise<string> =>
    run(join(await firstOf('psql', postgresPrograms), 'psql'), ctlArgs({ url }, args));
  return { url, endpoints: [url], version: await versionOf({ url, ctl }), ctl };
}
