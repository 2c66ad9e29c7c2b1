import { LOOPBACK } from '../../ports.ts';
import { BEHIND } from './gates.ts';
import type { AgentPlan, ClusterPlan } from './plan.ts';

/**
 * Consul's own limit is 200. Tests have as many clients on one machine as production has on many.
 */
const MANY_CONNECTIONS = 10_000;

/** An agent's configuration. */
export function configOf(self: AgentPlan, all: readonly AgentPlan[], cluster: ClusterPlan & { readonly data: string }): object {
  const servers = all.filter(({ isServer }) => isServer);
  return {
    node_name: self.name,
    datacenter: 'dc1',
    data_dir: cluster.data,
    bind_addr: self.gates === undefined ? LOOPBACK : BEHIND,
    advertise_addr: LOOPBACK,
    client_addr: LOOPBACK,
    server: self.isServer,
    ...(self.isServer ? { bootstrap_expect: servers.length } : {}),
    retry_join: servers.filter((server) => server !== self).map(({ serf }) => `${LOOPBACK}:${serf}`),
    retry_interval: '200ms',
    ports: portsOf(self, cluster),
    // Detects failures and elects as fast as Consul recommends for production.
    performance: { raft_multiplier: 1 },
    limits: { http_max_conns_per_client: MANY_CONNECTIONS },
    log_level: 'warn',
    disable_update_check: true,
    disable_coordinates: true,
    ...tlsOf(cluster),
    ...aclOf(cluster),
    ...cluster.settings,
  };
}

function portsOf({ http, serf, rpc }: AgentPlan, { tls }: ClusterPlan): object {
  const client = tls === undefined ? { http } : { http: -1, https: http };
  return { ...client, dns: -1, grpc: -1, serf_lan: serf, serf_wan: -1, server: rpc };
}

/** Agents use plain text among themselves, because only their clients are tested. */
function tlsOf({ tls, certificates }: ClusterPlan): object {
  if (certificates === undefined) return {};
  const { ca, server } = certificates;
  return { ca_file: ca, cert_file: server.cert, key_file: server.key, verify_incoming_https: tls === 'mutual' };
}

function aclOf({ managementToken: master }: ClusterPlan): object {
  return master === undefined ? {} : { acl: { enabled: true, default_policy: 'deny', tokens: { master, agent: master } } };
}
