import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';
import { DISTRIBUTION, JARS, JAR_PACKAGES } from './jars.ts';

/**
 * Supports those environment variables of the official image that the compose files use, and then
 * executes the command.
 */
const ENTRYPOINT = `#!/bin/sh
set -eu
if [ ! -f /conf/zoo.cfg ]; then
  {
    echo dataDir=/data
    echo admin.enableServer=false
    echo "tickTime=\${ZOO_TICK_TIME:-2000}"
    echo "initLimit=\${ZOO_INIT_LIMIT:-5}"
    echo "syncLimit=\${ZOO_SYNC_LIMIT:-2}"
    for line in \${ZOO_SERVERS:-server.1=localhost:2888:3888;2181} \${ZOO_CFG_EXTRA:-}; do echo "$line"; done
  } >/conf/zoo.cfg
fi
[ -f /data/myid ] || echo "\${ZOO_MY_ID:-1}" >/data/myid
exec "$@"
`;

/** Contains ZooKeeper and Java, in the layout of the official image. */
export const zookeeperImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: {
    setting: 'INCUMBENT_ZOOKEEPER_IMAGE',
    recipe: recipe('bookworm', 17),
    published: 'zookeeper:3.8.6@sha256:b601a8c4403f16eefb4e21e1ab14ba1e723c0b2ae923303e4433afb385e8372e',
  },
  newer: {
    recipe: recipe('trixie', 21),
    published: 'zookeeper:3.9.5@sha256:4c6f15fbd5491a3e01b0108c046891125553329a4956848ba3014cedff5386ee',
  },
};

function recipe(release: string, java: number): ImageRecipe {
  const machine = `/usr/lib/jvm/java-${java}-openjdk-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const server = ['java', '-cp', DISTRIBUTION, '-Dorg.slf4j.simpleLogger.defaultLogLevel=info'];
  return {
    name: `incumbent/zookeeper:${release}`,
    release,
    packages: [...JAR_PACKAGES, `openjdk-${java}-jre-headless`, 'libgcc-s1', 'libstdc++6', 'zlib1g'],
    files: { 'docker-entrypoint.sh': ENTRYPOINT },
    links: {
      'usr/local/bin/java': `${machine}/bin/java`,
      ...Object.fromEntries(JARS.map((name) => [`zookeeper/lib/${name}.jar`, `/usr/share/java/${name}.jar`])),
    },
    instructions: [
      ...['WORKDIR /conf', 'WORKDIR /data', 'WORKDIR /zookeeper', 'EXPOSE 2181 2888 3888'],
      'ENTRYPOINT ["/docker-entrypoint.sh"]',
      `CMD ${JSON.stringify([...server, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', '/conf/zoo.cfg'])}`,
    ],
  };
}
