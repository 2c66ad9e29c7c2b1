import type { Cluster, ClusterServer, OwnServer, StoreService, TlsMode } from '../types.ts';

export interface ConsulOptions {
  /** Plain text by default; with it, HTTPS is all that clients get. */
  readonly tls?: TlsMode;
  /**
   * The secret of a token that may do everything, a UUID: then nobody may do anything without a
   * token. There are no rules by default.
   */
  readonly managementToken?: string;
  /**
   * More of the agent's configuration, which takes the place of that from here: `{ session_ttl_min:
   * '1s' }`.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * A Consul that is there, with URLs as `http://127.0.0.1:8500`, or `https:` with TLS. `ctl` runs
 * one command of its own tool, `['kv', 'get', 'key']`, and gives what that prints.
 */
export type Consul = StoreService;

/** One's own Consul of one server, which is an agent as well. */
export type ConsulServer = OwnServer;

/** One agent of a cluster. */
export type ConsulClusterServer = ClusterServer;

/** One's own Consul of several servers, and agents that only pass on to them. */
export interface ConsulCluster extends Cluster {
  /** Those that are no servers. */
  readonly agents: readonly ConsulClusterServer[];
  /**
   * From now on nothing that agents and other servers ask of any server passes, and nobody is told;
   * clients reach all as before. Only where servers are gated.
   */
  cutOff(): void;
  /** Everything passes again. */
  heal(): Promise<void>;
}
