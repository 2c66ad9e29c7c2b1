import { join } from 'node:path';

import { run } from '../../run.ts';
import { firstOf } from '../source.ts';
import { ctlArgs } from './ctl.ts';
import { redisPrograms } from './source.ts';
import { versionOf } from './status.ts';
import type { Redis } from './types.ts';

/**
 * An external Redis at an address from the environment, with plain text and without users. Throws
 * if it does not answer.
 */
export async function externalRedis(url: string): Promise<Redis> {
  return {
    url,
    endpoints: [url],
    version: await versionOf({ url }),
    async ctl(args) {
      const folder = await firstOf('redis-cli', redisPrograms);
      return run(join(folder, 'redis-cli'), ctlArgs({ url }, args));
    },
  };
}
