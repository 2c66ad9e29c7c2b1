import { join } from 'node:path';

import { run } from '../../run.ts';
import { firstOf } from '../source.ts';
import { ctlArgs } from './ctl.ts';
import { consulPrograms } from './source.ts';
import { versionOf } from './status.ts';
import type { Consul } from './types.ts';

/**
 * An external Consul at an address from the environment, with plain text and without access rules.
 * Throws if it does not answer.
 */
export async function externalConsul(url: string): Promise<Consul> {
  return {
    url,
    endpoints: [url],
    version: await versionOf({ url }, undefined),
    ctl: async (args) => run(join(await firstOf('consul', consulPrograms), 'consul'), ctlArgs(url, args)),
  };
}
