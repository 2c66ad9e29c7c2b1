import { LocalInstance } from '../local.ts';
import { inContainers, serverSource, type ServerSource } from '../server-source.ts';
import type { Candidate } from '../source.ts';
import type { StoreVersion } from '../types.ts';
import { zookeeperImages } from './image.ts';
import { classPaths, DISTRIBUTION, newerClassPath } from './jars.ts';
import { javaFolder } from './java.ts';

/**
 * The source of ZooKeeper's servers: `java` with ZooKeeper on its class path. Searched on the first
 * call. Throws `StoreUnavailable` if there is none.
 */
export function zookeeperSource(version: StoreVersion = 'default'): Promise<ServerSource> {
  return serverSource('zookeeper', version, candidates(version));
}

function candidates(version: StoreVersion): readonly Candidate<ServerSource>[] {
  const local = version === 'default' ? classPaths : [newerClassPath];
  return [inContainers(zookeeperImages[version], { CLASSPATH: DISTRIBUTION }), ...local.map(asProcesses)];
}

function asProcesses({ what, find }: Candidate<string>): Candidate<ServerSource> {
  return {
    what,
    async find() {
      const classPath = await find();
      if (classPath === undefined) return undefined;
      const folder = await javaFolder();
      const env = { CLASSPATH: classPath };
      return { what, instance: (plan) => new LocalInstance(folder, { ...plan, env: { ...plan.env, ...env } }) };
    },
  };
}
