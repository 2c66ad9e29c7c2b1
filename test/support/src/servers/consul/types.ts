import type { Cluster, ClusterServer, OwnServer, StoreService, TlsMode } from '../types.ts';

export interface ConsulOptions {
  /** Default: plain text. With TLS, clients can only use HTTPS. */
  readonly tls?: TlsMode;
  /**
   * The secret of a token with all permissions, a UUID. Nothing is then permitted without a token.
   * Default: no access rules.
   */
  readonly managementToken?: string;
  /**
   * Additional configuration of the agent, which overrides the generated one: `{ session_ttl_min:
   * '1s' }`.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * A running Consul, with URLs as `http://127.0.0.1:8500`, or `https:` with TLS. `ctl` runs one
 * command of its own tool, `['kv', 'get', 'key']`, and returns the output.
 */
export type Consul = StoreService;

/** A Consul of one server for this process alone. The server is also an agent. */
export type ConsulServer = OwnServer;

/** One agent of a cluster. */
export type ConsulClusterServer = ClusterServer;

/**
 * A Consul for this process alone, of several servers and of agents that only forward requests to
 * them.
 */
export interface ConsulCluster extends Cluster {
  /** The agents that are not servers. */
  readonly agents: readonly ConsulClusterServer[];
  /**
   * From now on no request of agents and other servers to any server passes, and neither side is
   * notified. Clients still reach all agents. Only for gated servers.
   */
  cutOff(): void;
  /** Everything passes again. */
  heal(): Promise<void>;
}
