import { join } from 'node:path';

import { run } from '../../run.ts';
import { firstOf } from '../source.ts';
import { ctlArgs, withoutGreeting } from './ctl.ts';
import { classPaths } from './jars.ts';
import { javaFolder } from './java.ts';
import { versionOf } from './status.ts';
import type { Zookeeper } from './types.ts';

/**
 * An external ZooKeeper at an address from the environment, with plain text. Throws if it does not
 * answer.
 */
export async function externalZookeeper(url: string): Promise<Zookeeper> {
  const endpoints = [url];
  return {
    url,
    endpoints,
    version: await versionOf({ url }),
    async ctl(args) {
      const [folder, classPath] = await Promise.all([javaFolder(), firstOf('zkCli', classPaths)]);
      const env = { PATH: process.env['PATH'], CLASSPATH: classPath };
      return withoutGreeting(await run(join(folder, 'java'), ctlArgs(endpoints, args), { env }));
    },
  };
}
