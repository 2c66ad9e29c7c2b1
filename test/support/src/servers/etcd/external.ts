import { join } from 'node:path';

import { run } from '../../run.ts';
import { firstOf } from '../source.ts';
import { ctlArgs } from './ctl.ts';
import { etcdPrograms } from './source.ts';
import { versionOf } from './status.ts';
import type { Etcd } from './types.ts';

/**
 * An external etcd at an address from the environment, with plain text and without users. Throws if
 * it does not answer.
 */
export async function externalEtcd(url: string): Promise<Etcd> {
  const endpoints = [url];
  return {
    url,
    endpoints,
    version: await versionOf(url),
    async ctl(args) {
      const folder = await firstOf('etcdctl', etcdPrograms);
      return run(join(folder, 'etcdctl'), ctlArgs(endpoints, {}, args));
    },
  };
}
