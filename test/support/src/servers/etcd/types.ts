import type { Cluster, ClusterServer, Credentials, OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface EtcdOptions extends VersionOptions {
  /**
   * Enables authentication, with this user and `root`. Both have this password and all permissions.
   */
  readonly auth?: Credentials;
  /** Default: plain text. */
  readonly tls?: TlsMode;
  /** Additional flags of etcd: `['--heartbeat-interval=20', '--election-timeout=200']`. */
  readonly flags?: readonly string[];
}

/**
 * A running etcd, with URLs as `http://127.0.0.1:2379`. `ctl` runs etcdctl with all permissions. A
 * flag replaces the generated one, `['--user=alice:secret', 'get', 'key']`, and a flag without a
 * value only removes it: `--user=`.
 */
export type Etcd = StoreService;

/** An etcd of one server for this process alone. */
export type EtcdServer = OwnServer;

/** One server of a cluster. */
export type EtcdClusterServer = ClusterServer;

/** An etcd of several servers for this process alone. */
export interface EtcdCluster extends Cluster {
  /**
   * From now on nothing passes between this server and the others, and neither side is notified.
   * Clients still reach all servers. Only for a `gated` cluster.
   */
  cutOff(server: number): void;
  /**
   * From now on no message of one server reaches the other. Messages in the other direction do.
   * Only for a `gated` cluster.
   */
  cutOneWay(from: number, to: number): void;
  /**
   * Adds this latency to messages between this server and the others, each way. Only for a `gated`
   * cluster.
   */
  slow(server: number, ms: number): void;
  /** From now on the first server cannot write to its disk. Only for a `freezable` cluster. */
  freezeDisk(): Promise<void>;
  /** The first server can write to its disk again. Only for a `freezable` cluster. */
  thawDisk(): Promise<void>;
  /** All servers reach each other again. */
  heal(): Promise<void>;
}
