import { LOOPBACK } from '../../ports.ts';
import { FOUR_LETTER_WORDS } from './four-letter-word.ts';
import type { ClusterPlan, ServerPlan } from './plan.ts';

const TICK_MS = 500;

/**
 * How long a follower and its leader tolerate each other's silence: as in ZooKeeper's own example,
 * whatever the tick.
 */
const SYNC_MS = 10_000;
const INIT_MS = 20_000;

/** The lines of a server's `zoo.cfg`. */
export function configLines(
  self: ServerPlan,
  all: readonly ServerPlan[],
  cluster: ClusterPlan & { readonly data: string },
): readonly string[] {
  const { tickMs = TICK_MS, data, settings = [] } = cluster;
  return [
    `tickTime=${tickMs}`,
    `initLimit=${Math.ceil(INIT_MS / tickMs)}`,
    `syncLimit=${Math.ceil(SYNC_MS / tickMs)}`,
    `dataDir=${data}`,
    // Acknowledged writes survive the end of the process without it. It protects against a crash of
    // the machine, which no test causes.
    'forceSync=no',
    // Any number of connections from one address.
    'maxClientCnxns=0',
    'admin.enableServer=false',
    `4lw.commands.whitelist=${FOUR_LETTER_WORDS.join(',')}`,
    ...clientLines(self, cluster),
    ...serverLines(all),
    ...settings,
  ];
}

function clientLines({ client }: ServerPlan, { tls, keystores }: ClusterPlan): readonly string[] {
  if (keystores === undefined) return [`clientPortAddress=${LOOPBACK}`, `clientPort=${client}`];
  return [
    `secureClientPortAddress=${LOOPBACK}`,
    `secureClientPort=${client}`,
    // The default implementation does not support TLS.
    'serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
    `ssl.keyStore.location=${keystores.server}`,
    `ssl.trustStore.location=${keystores.authority}`,
    `ssl.clientAuth=${tls === 'mutual' ? 'need' : 'none'}`,
  ];
}

/**
 * Empty for a single server. Servers use plain text among themselves, because only their clients
 * are tested.
 */
function serverLines(all: readonly ServerPlan[]): readonly string[] {
  return all.length === 1 ? [] : all.map(({ id, quorum, election }) => `server.${id}=${LOOPBACK}:${quorum}:${election}`);
}
