import { access, readdir, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';

import { folderOnPath } from '../find.ts';
import { NEWER_RELEASE, unpackedPackages } from '../packages.ts';
import type { Candidate } from '../source.ts';

/** Debian's packages with ZooKeeper, and those dependencies that a server or zkCli loads. */
export const JAR_PACKAGES = [
  'libzookeeper-java',
  'libcommons-cli-java',
  'libdropwizard-metrics-java',
  'libnetty-java',
  'libslf4j-java',
  'libsnappy-java',
] as const;

/**
 * The order of the class path. ZooKeeper's own jar is the last one: its manifest names the jars
 * that it needs by absolute paths below `/usr/share/java`, and Java would search those paths before
 * the jars that follow here. They may contain the jars of another installed version.
 */
export const JARS: readonly string[] = [
  ...['zookeeper-jute', 'commons-cli', 'metrics-core', 'slf4j-api', 'slf4j-simple', 'snappy-java'],
  ...['buffer', 'codec', 'common', 'handler', 'resolver', 'transport'].map((part) => `netty-${part}`),
  ...['netty-transport-native-epoll', 'netty-transport-native-unix-common', 'zookeeper'],
];

const SCRIPT = 'zkServer.sh';

/** The class path if the working folder is a distribution of Apache's, as in the official image. */
export const DISTRIBUTION = 'lib/*';

/** Class paths on this machine with ZooKeeper, in the system's version. */
export const classPaths: readonly Candidate<string>[] = [
  { what: `${SCRIPT} on the PATH`, find: distribution },
  { what: "the system's jars", find: installed },
  { what: "the system's packages", find: () => unpacked() },
];

/** Its classes run on the Java of the previous release. */
export const newerClassPath: Candidate<string> = {
  what: `Debian's packages of ${NEWER_RELEASE}`,
  find: () => unpacked(NEWER_RELEASE),
};

/** The script is in the distribution, or is a link into it. */
async function distribution(): Promise<string | undefined> {
  const scripts = await folderOnPath(SCRIPT);
  if (scripts === undefined) return undefined;
  const jars = join(dirname(await realpath(join(scripts, SCRIPT))), '..', 'lib');
  const files = await readdir(jars).catch(() => []);
  return files.some((file) => /^zookeeper-\d.*\.jar$/.test(file)) ? join(jars, '*') : undefined;
}

async function installed(): Promise<string | undefined> {
  const jars = jarsIn('/');
  return Promise.all(jars.map((jar) => access(jar))).then(
    () => jars.join(delimiter),
    () => undefined,
  );
}

async function unpacked(release?: string): Promise<string> {
  const folder = await unpackedPackages({ names: JAR_PACKAGES, ...(release === undefined ? {} : { release }) });
  return jarsIn(folder).join(delimiter);
}

function jarsIn(root: string): readonly string[] {
  return JARS.map((name) => join(root, 'usr', 'share', 'java', `${name}.jar`));
}
