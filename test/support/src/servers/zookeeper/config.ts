import { LOOPBACK } from '../../ports.ts';
import { FOUR_LETTER_WORDS } from './four-letter-word.ts';
import type { ClusterPlan, ServerPlan } from './plan.ts';

const TICK_MS = 500;

/**
 * How long a follower and its leader put up with each other's silence: as in ZooKeeper's own
 * example, whatever the tick.
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
    // What a server has acknowledged outlives its process without it. It is for the machine's end,
    // of which there is no test.
    'forceSync=no',
    // As many connections from one address as are wanted.
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
    // The other one, which is the default, knows no TLS.
    'serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
    `ssl.keyStore.location=${keystores.server}`,
    `ssl.trustStore.location=${keystores.authority}`,
    `ssl.clientAuth=${tls === 'mutual' ? 'need' : 'none'}`,
  ];
}

/**
 * None for a server that stands alone. Among themselves servers speak in plain text: it is their
 * clients that are tested.
 */
function serverLines(all: readonly ServerPlan[]): readonly string[] {
  return all.length === 1 ? [] : all.map(({ id, quorum, election }) => `server.${id}=${LOOPBACK}:${quorum}:${election}`);
}
